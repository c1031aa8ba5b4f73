// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"slices"
	"strings"
	"unicode"
)

func (c *checker) user(p place, cfg *Config) {
	c.clientCertificate(p, cfg)
	c.bearerToken(p, cfg)
	if (cfg.BearerToken != "" || cfg.BearerTokenFile != "") && (cfg.Username != "" || cfg.Password != "") {
		c.add(p.errorf("username", "keep one of the two", "conflicts with a token"))
	}
	if cfg.Password != "" {
		c.placeholder(p, "password", []byte(cfg.Password))
	}
	if cfg.Exec != nil {
		c.exec(p, cfg)
	}
	if cfg.AuthProvider != nil {
		c.authProvider(p, cfg.AuthProvider)
	}
	if strings.Contains(cfg.Username, ":") {
		c.add(p.errorf("username", "correct it, or use a token",
			"contains a colon, which ends the name in basic authentication"))
	}
	c.impersonation(p, cfg.Impersonate)
}

// impersonation reports values that cannot be sent in headers, and fields that have no effect.
func (c *checker) impersonation(p place, i Impersonation) {
	if i.User == "" && !i.isZero() {
		c.add(p.errorf("as", "name the user to impersonate", "is missing, but a uid, groups or extra are set"))
	}
	var extra []string
	for key, values := range i.Extra {
		if key == "" {
			c.add(p.errorf("as", "name it", "contains an extra without a name"))
		}
		extra = append(extra, values...)
	}
	for _, texts := range []struct {
		what   string
		values []string
	}{{"extra", extra}, {"groups", i.Groups}, {"uid", []string{i.UID}}, {"user", []string{i.User}}} {
		if slices.ContainsFunc(texts.values, unsendable) {
			c.add(p.errorf("as", "remove them", "contains control characters, or leading or trailing spaces, in %s", texts.what))
		}
	}
}

// unsendable reports whether the server would read the header value differently from how it was sent.
func unsendable(text string) bool {
	return text != strings.TrimSpace(text) || strings.ContainsFunc(text, unicode.IsControl)
}

func (c *checker) clientCertificate(p place, cfg *Config) {
	cert := c.pair(p, "client-certificate", cfg.ClientCertFile, cfg.ClientCertData)
	key := c.pair(p, "client-key", cfg.ClientKeyFile, []byte(cfg.ClientKeyData))
	switch {
	case cfg.hasCertificate() && !cfg.hasKey():
		c.add(p.errorf("client-key", "add the key of the client certificate", "is missing"))
	case cfg.hasKey() && !cfg.hasCertificate():
		c.add(p.errorf("client-certificate", "add the certificate, or remove the key", "is missing, but its key is set"))
	case cert != nil && key != nil:
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			e := p.errorf(source("client-certificate", cfg.ClientCertFile), "provide a certificate and its key in PEM format",
				"cannot be used with its key: %s", strings.TrimPrefix(err.Error(), "tls: "))
			e.Err = err
			c.add(e)
		}
	}
}

// hasCertificate reports whether c has a client certificate.
func (c *Config) hasCertificate() bool { return c.ClientCertFile != "" || len(c.ClientCertData) > 0 }

// hasKey reports whether c has the key of a client certificate.
func (c *Config) hasKey() bool { return c.ClientKeyFile != "" || c.ClientKeyData != "" }

// source returns the field that a value came from: field if it names a file, otherwise the "-data" field.
func source(field, file string) string {
	if file != "" {
		return field
	}
	return field + "-data"
}

// pair returns the content of a field or of its "-data" counterpart. It returns nil if the content is empty or was
// reported.
func (c *checker) pair(p place, field, file string, data []byte) []byte {
	if file != "" && len(data) > 0 {
		c.add(p.errorf(field, "keep one of the two", "conflicts with %s", p.fieldName(field+"-data")))
	}
	if file != "" {
		data, _ = c.readFile(p, field, file)
		return data
	}
	if len(data) == 0 || c.placeholder(p, field+"-data", data) {
		return nil
	}
	return data
}

func (c *checker) bearerToken(p place, cfg *Config) {
	if token := string(cfg.BearerToken); token != "" && !c.placeholder(p, "token", []byte(token)) {
		c.tokenText(p, "token", token)
	}
	if cfg.BearerTokenFile == "" {
		return
	}
	data, ok := c.readFile(p, "tokenFile", cfg.BearerTokenFile)
	if !ok {
		return
	}
	if token := strings.TrimSpace(string(data)); token != "" {
		c.fileToken = Secret(token)
		c.tokenText(p, "tokenFile", token)
	} else {
		c.add(p.errorf("tokenFile", "write a token into it", "the file %s is empty", cfg.BearerTokenFile))
	}
}

// tokenText reports characters that cannot be sent in a header.
func (c *checker) tokenText(p place, field, token string) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		c.add(p.errorf(field, "write the token on one line", "contains spaces or line breaks"))
	}
}

func (c *checker) exec(p place, cfg *Config) {
	e := cfg.Exec
	if cfg.AuthProvider != nil {
		c.add(p.errorf("exec", "keep one of the two", "conflicts with %s", p.fieldName("auth-provider")))
	}
	if e.Command == "" {
		c.add(p.errorf("exec.command", "name the program to run", "is missing"))
	}
	switch e.APIVersion {
	case ExecV1, ExecV1Beta1:
	case "":
		c.add(p.errorf("exec.apiVersion", "write "+ExecV1+", or the version that the plugin supports", "is missing"))
	default:
		c.add(p.errorf("exec.apiVersion", "update the plugin to a version that supports "+ExecV1,
			"%q is not supported", e.APIVersion))
	}
	const modes = "write Never, IfAvailable or Always"
	switch e.InteractiveMode {
	case InteractiveNever, InteractiveIfAvailable, InteractiveAlways:
	case "":
		if e.APIVersion == ExecV1 {
			c.add(p.errorf("exec.interactiveMode", modes, "is missing"))
		}
	default:
		c.add(p.errorf("exec.interactiveMode", modes, "%q is not a valid mode", e.InteractiveMode))
	}
	for i, v := range e.Env {
		if v.Name == "" {
			c.add(p.errorf("exec.env", "set the name", "the name of variable %d is missing", i+1))
		}
	}
}

func (c *checker) authProvider(p place, a *AuthProvider) {
	const field = "auth-provider"
	switch a.Name {
	case "oidc":
	case "":
		c.add(p.errorf(field+".name", "name it, or use exec", "is missing"))
	case "gcp":
		c.add(p.errorf(field, "install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials`",
			"gcp was removed in favor of an exec plugin"))
	case "azure":
		c.add(p.errorf(field, "install kubelogin and run `kubelogin convert-kubeconfig`",
			"azure was removed in favor of an exec plugin"))
	default:
		c.add(p.errorf(field, "use an exec plugin", "%q is not supported", a.Name))
	}
}
