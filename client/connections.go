// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package client

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/client/config"
)

// connect returns the connections for a configuration: new ones, or those of the options.
func connect(cfg *config.Config, o *Options) (connections, error) {
	if o.Limits != nil && o.Limits.HeaderBytes != 0 && (o.Share != nil || o.Transport != nil) {
		return connections{}, errors.New("Options.Limits.HeaderBytes: cannot be combined with Share or " +
			"Transport, which determine the connection; set it there")
	}
	switch {
	case o.StreamBufferBytes != 0 && (o.Share != nil || o.Transport != nil):
		return connections{}, errors.New("Options.StreamBufferBytes: cannot be combined with Share or Transport, which " +
			"determine the connection; set it there")
	case o.StreamBufferBytes < 0 || o.StreamBufferBytes >= 4<<20: // package net/http would ignore it
		return connections{}, fmt.Errorf("Options.StreamBufferBytes: %d must be positive and less than 4 MiB; leave it "+
			"zero for the default", o.StreamBufferBytes)
	}
	if o.Share != nil {
		return o.Share.shared(cfg, o)
	}
	auth, certs, err := authMiddleware(cfg, o)
	if err != nil {
		return connections{}, err
	}
	if o.Transport != nil {
		return connections{requests: o.Transport, upgrades: o.Transport, auth: auth}, checkOwnTransport(cfg)
	}
	c := connections{auth: auth, own: true}
	c.requests, c.upgrades, err = newTransports(cfg, certs, boundsOf(o))
	return c, err
}

// shared returns the client's connections for another configuration. If the credentials are the same, they are shared
// too, so that a plugin does not run once per client.
func (c *Client) shared(cfg *config.Config, o *Options) (connections, error) {
	switch {
	case o.Transport != nil:
		return connections{}, errors.New("Options.Share and Options.Transport exclude each other: clear one")
	case o.Plugin != nil && usesPlugin(cfg):
		return connections{}, errors.New("Options.Share and Options.Plugin exclude each other, as the plugin is shared " +
			"too: clear one")
	}
	if differ := differences(cfg, c.config); differ != nil {
		return connections{}, errors.New("Options.Share: the Config requires a connection with a different " +
			strings.Join(differ, ", ") + " than that of the client; make them equal, or clear Share")
	}
	conns := c.conns
	if sameCredentials(cfg, c.config) {
		return conns, nil
	}
	if usesPlugin(c.config) || usesPlugin(cfg) {
		return connections{}, errors.New("Options.Share: the Config has different credentials than the client, and an " +
			"exec plugin may provide the client certificate of the connection; make them equal, or clear Share")
	}
	if err := checkPlain(cfg); conns.own && err != nil {
		return connections{}, err
	}
	var err error
	conns.auth, _, err = authMiddleware(cfg, o)
	return conns, err
}

// differences returns the fields in which two configurations require different connections. Exec is among them, because
// a plugin may provide a client certificate, which takes precedence over a token.
func differences(a, b *config.Config) []string {
	return namesOf([]field{
		{"Server", a.Server != b.Server},
		{"TLSServerName", a.TLSServerName != b.TLSServerName},
		{"InsecureSkipTLSVerify", a.InsecureSkipTLSVerify != b.InsecureSkipTLSVerify},
		{"certificate authority", a.CAFile != b.CAFile || !bytes.Equal(a.CAData, b.CAData)},
		{"client certificate", a.ClientCertFile != b.ClientCertFile || a.ClientKeyFile != b.ClientKeyFile ||
			!bytes.Equal(a.ClientCertData, b.ClientCertData) || a.ClientKeyData != b.ClientKeyData},
		{"Exec", !reflect.DeepEqual(a.Exec, b.Exec)},
		{"ProxyURL", a.ProxyURL != b.ProxyURL},
		{"DisableCompression", a.DisableCompression != b.DisableCompression},
	})
}

// sameCredentials reports whether two configurations with the same connection send the same credentials.
func sameCredentials(a, b *config.Config) bool {
	return a.BearerToken == b.BearerToken && a.BearerTokenFile == b.BearerTokenFile &&
		a.Username == b.Username && a.Password == b.Password && reflect.DeepEqual(a.AuthProvider, b.AuthProvider)
}

// checkOwnTransport rejects fields that only the client's own transport supports.
func checkOwnTransport(cfg *config.Config) error {
	asked := namesOf([]field{
		{"TLSServerName", cfg.TLSServerName != ""},
		{"InsecureSkipTLSVerify", cfg.InsecureSkipTLSVerify},
		{"a certificate authority", cfg.CAFile != "" || len(cfg.CAData) > 0},
		{"a client certificate", cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0},
		{"ProxyURL", cfg.ProxyURL != ""},
		{"DisableCompression", cfg.DisableCompression},
	})
	if asked != nil {
		return errors.New("the Config sets " + strings.Join(asked, ", ") +
			", which a custom Transport does not use; configure it in the Transport, and clear it in the Config")
	}
	return nil
}

// field is a named result about a field of a configuration.
type field struct {
	name  string
	found bool
}

func namesOf(fields []field) []string {
	var names []string
	for _, f := range fields {
		if f.found {
			names = append(names, f.name)
		}
	}
	return names
}
