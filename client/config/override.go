// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"strings"
)

// override applies Namespace and Override of the options. It returns the kubeconfig names of the fields that it
// replaced.
func (c *Config) override(o *Options) (map[string]bool, error) {
	with := Config{}
	if o.Override != nil {
		with = *o.Override
	}
	if o.Namespace != "" && with.Namespace != "" && o.Namespace != with.Namespace {
		return nil, errors.New("options: Namespace and Override.Namespace differ: set one of them")
	}
	with.Namespace = cmp.Or(o.Namespace, with.Namespace)
	done := overridden{}
	c.overrideCluster(&with, done)
	c.overrideUser(&with, done)
	done.text("namespace", &c.Namespace, with.Namespace)
	if with.hasCredentials() && strings.HasPrefix(serverURL(c), "http:") {
		return nil, errors.New("options: Override contains credentials, which are not sent over http: use an https server")
	}
	return done, nil
}

func (c *Config) overrideCluster(with *Config, done overridden) {
	if with.Server != "" {
		c.TLSServerName = "" // it belongs to the replaced server
	}
	done.text("server", &c.Server, with.Server)
	done.text("tls-server-name", &c.TLSServerName, with.TLSServerName)
	if with.InsecureSkipTLSVerify || with.CAFile != "" || len(with.CAData) > 0 {
		c.InsecureSkipTLSVerify, c.CAFile, c.CAData = with.InsecureSkipTLSVerify, with.CAFile, with.CAData
		done.mark("insecure-skip-tls-verify", "certificate-authority", "certificate-authority-data")
	}
	done.text("proxy-url", &c.ProxyURL, with.ProxyURL)
	if with.DisableCompression {
		c.DisableCompression = true
	}
}

func (c *Config) overrideUser(with *Config, done overridden) {
	if with.hasCertificate() {
		c.ClientCertFile, c.ClientCertData = with.ClientCertFile, with.ClientCertData
		done.mark("client-certificate", "client-certificate-data")
	}
	if with.hasKey() {
		c.ClientKeyFile, c.ClientKeyData = with.ClientKeyFile, with.ClientKeyData
		done.mark("client-key", "client-key-data")
	}
	if with.hasAuthorization() {
		c.BearerToken, c.BearerTokenFile = with.BearerToken, with.BearerTokenFile
		c.Username, c.Password = with.Username, with.Password
		c.Exec, c.AuthProvider = with.Exec, with.AuthProvider
		done.mark("token", "tokenFile", "username", "password", "exec", "auth-provider")
	}
	if with.Impersonate.isZero() {
		return
	}
	done.mark("as")
	if with.Impersonate.User != "" {
		c.Impersonate = with.Impersonate // the groups of one user must not apply to another
		return
	}
	c.Impersonate.UID = cmp.Or(with.Impersonate.UID, c.Impersonate.UID)
	if len(with.Impersonate.Groups) > 0 {
		c.Impersonate.Groups = with.Impersonate.Groups
	}
	if len(with.Impersonate.Extra) > 0 {
		c.Impersonate.Extra = with.Impersonate.Extra
	}
}

// hasAuthorization reports whether c has credentials for the Authorization header.
func (c *Config) hasAuthorization() bool {
	return c.BearerToken != "" || c.BearerTokenFile != "" || c.Username != "" || c.Password != "" ||
		c.Exec != nil || c.AuthProvider != nil
}

// hasCredentials reports whether c has any credentials.
func (c *Config) hasCredentials() bool {
	return c.hasCertificate() || c.hasKey() || c.hasAuthorization()
}

// overridden is a set of fields by their kubeconfig names.
type overridden map[string]bool

func (o overridden) mark(fields ...string) {
	for _, field := range fields {
		o[field] = true
	}
}

func (o overridden) text(field string, to *string, value string) {
	if value != "" {
		*to = value
		o[field] = true
	}
}
