// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// connections are what clients of one configuration may share.
type connections struct {
	requests, upgrades http.RoundTripper
	auth               middleware.Func // sends the credentials; nil when there are none to send
	own                bool            // made by us, not given as Options.Transport
}

// connect returns the connections for a configuration: new ones, or those that the options give.
func connect(cfg *config.Config, o *Options) (connections, error) {
	if o.Limits != nil && o.Limits.HeaderBytes != 0 && (o.Share != nil || o.Transport != nil) {
		return connections{}, errors.New("Options.Limits.HeaderBytes: belongs to the connection, which Share or " +
			"Transport gives; set it there")
	}
	if o.Share != nil {
		return o.Share.shared(cfg, o)
	}
	auth, certs, err := authLayer(cfg, o)
	if err != nil {
		return connections{}, err
	}
	if o.Transport != nil {
		return connections{requests: o.Transport, upgrades: o.Transport, auth: auth}, checkOwnTransport(cfg)
	}
	c := connections{auth: auth, own: true}
	c.requests, c.upgrades, err = newTransports(cfg, certs, o.Limits)
	return c, err
}

// shared returns the client's connections for another configuration. The credentials that are sent come along when they
// are the same: a plugin is not run once for each client.
func (c *Client) shared(cfg *config.Config, o *Options) (connections, error) {
	switch {
	case o.Transport != nil:
		return connections{}, errors.New("Options.Share and Options.Transport exclude each other: clear one")
	case o.Plugin != nil && usesPlugin(cfg):
		return connections{}, errors.New("Options.Share and Options.Plugin exclude each other, as the plugin is shared too: clear one")
	}
	if differ := differences(cfg, c.config); differ != nil {
		return connections{}, errors.New("Options.Share: the Config asks for a connection that is not the client's, by its " +
			strings.Join(differ, ", ") + "; make both the same, or clear Share")
	}
	conns := c.conns
	if sameCredentials(cfg, c.config) {
		return conns, nil
	}
	if usesPlugin(c.config) || usesPlugin(cfg) {
		return connections{}, errors.New("Options.Share: the Config has other credentials than the client, whose exec plugin may " +
			"give the connection a client certificate; make both the same, or clear Share")
	}
	if err := checkPlain(cfg); conns.own && err != nil {
		return connections{}, err
	}
	var err error
	conns.auth, _, err = authLayer(cfg, o)
	return conns, err
}

// closeIdle closes the connections that nothing uses, as net/http.Client does it.
func (c connections) closeIdle() {
	for _, rt := range []http.RoundTripper{c.requests, c.upgrades} {
		if closer, ok := rt.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
		}
	}
}

// differences names the fields by which two configurations ask for different connections. Plugins are among them, since
// a plugin may bring a client certificate, which counts more than what is sent.
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

// sameCredentials reports whether two configurations of one connection send the same credentials.
func sameCredentials(a, b *config.Config) bool {
	return a.BearerToken == b.BearerToken && a.BearerTokenFile == b.BearerTokenFile &&
		a.Username == b.Username && a.Password == b.Password && reflect.DeepEqual(a.AuthProvider, b.AuthProvider)
}

// checkOwnTransport refuses what only the client's own transport can do.
func checkOwnTransport(cfg *config.Config) error {
	asked := namesOf([]field{
		{"TLSServerName", cfg.TLSServerName != ""},
		{"InsecureSkipTLSVerify", cfg.InsecureSkipTLSVerify},
		{"a certificate authority", cfg.CAFile != "" || len(cfg.CAData) > 0},
		{"a client certificate", cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0},
		{"ProxyURL", cfg.ProxyURL != ""},
	})
	if asked != nil {
		return errors.New("the Config asks for " + strings.Join(asked, ", ") +
			", which a Transport of your own can't be told; set it up there, and clear it here")
	}
	return nil
}

// field is a field of a configuration about which something was found.
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
