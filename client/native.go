// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// configOf returns the configuration that the options select.
func configOf(ctx context.Context, o *Options) (*config.Config, error) {
	cfg := o.Config
	switch {
	case o.Context != "" && (cfg != nil || o.Share != nil):
		return nil, fmt.Errorf(
			"Options.Context: is %q, but Config or Share has the server already; set one of them",
			o.Context,
		)
	case cfg != nil:
		if err := cfg.Validate(ctx); err != nil {
			return nil, err
		}
		return cfg, nil
	case o.Share != nil:
		return o.Share.config, nil
	}
	return config.Load(ctx, &config.Options{Context: o.Context})
}

// checkCertificate returns the error of a client certificate that has expired, and that the server may have rejected.
func checkCertificate(ctx context.Context, cfg *config.Config) error {
	return cfg.CheckClientCertificate(ctx)
}

// authMiddleware returns the middleware that sends the credentials of the configuration, and the additional source of
// client certificates. Each is nil if the configuration does not have it. The transport presents the client certificate
// of the configuration itself. If there are several credentials, the first in this order is sent, and a plugin is the
// last.
func authMiddleware(cfg *config.Config, o *Options) (middleware.Func, certSource, error) {
	switch {
	case cfg.BearerTokenFile != "":
		return middleware.TokenFile(cfg.BearerTokenFile, string(cfg.BearerToken)), nil, nil
	case cfg.BearerToken != "":
		return middleware.Bearer(string(cfg.BearerToken)), nil, nil
	case cfg.Username != "" || cfg.Password != "":
		return middleware.Basic(cfg.Username, string(cfg.Password)), nil, nil
	case !usesPlugin(cfg) && cfg.AuthProvider == nil:
		return nil, nil, nil
	case strings.HasPrefix(strings.ToLower(cfg.Server), "http:"):
		return nil, nil, errors.New("credentials are not sent over http: use an https server, or remove the exec plugin " +
			"or auth-provider")
	case cfg.AuthProvider != nil:
		provider, err := auth.NewOIDC(cfg, &auth.OIDCOptions{Logger: o.Logger})
		if err != nil {
			return nil, nil, err
		}
		return provider.Middleware, nil, nil
	}
	plugin, err := auth.NewPlugin(cfg, o.Plugin)
	if err != nil {
		return nil, nil, err
	}
	if o.Transport != nil {
		return func(next http.RoundTripper) http.RoundTripper {
			return plugin.Middleware(noCertificate(plugin)(next))
		}, nil, nil
	}
	return plugin.Middleware, plugin.Certificate, nil
}

// usesPlugin reports whether the exec plugin of a configuration runs.
func usesPlugin(cfg *config.Config) bool {
	return cfg.Exec != nil && cfg.BearerToken == "" && cfg.BearerTokenFile == "" && cfg.Username == "" &&
		cfg.Password == "" && cfg.ClientCertFile == "" && len(cfg.ClientCertData) == 0
}

// noCertificate rejects the client certificate of a plugin, because a custom transport cannot present it.
func noCertificate(plugin *auth.Plugin) middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			switch cert, err := plugin.Certificate(r.Context()); {
			case err != nil:
				return nil, err
			case cert != nil:
				return nil, errors.New("the exec plugin returned a client certificate, which a custom Transport does not use; " +
					"configure it in the Transport, and clear Exec in the Config")
			}
			return next.RoundTrip(r)
		})
	}
}

// connectHint returns what to do about an error of the connection.
func connectHint(err error) string {
	if hint := proxyHint(err); hint != "" {
		return hint
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nothing listens on this address: start the server, or correct the address"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "correct the host name, or the resolver"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is not signed by the configured certificate-authority, or by one of this " +
			"machine's if none is configured: use the current certificate authority of the cluster"
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is not for %s: correct the address, or set tls-server-name", name.Host)
	}
	if inv, ok := errors.AsType[x509.CertificateInvalidError](err); ok && inv.Reason == x509.Expired {
		if strings.Contains(inv.Detail, " is before ") {
			return "correct the clock of this machine, or of the issuer of the certificate"
		}
		return "renew the server's certificate, or correct this machine's clock"
	}
	if alert, ok := alertOf(err); ok {
		return alertHint(alert)
	}
	if _, ok := errors.AsType[*silentError](err); ok {
		return "the server received the request and is busy or stuck: check the server, or increase ResponseHeaderTimeout"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "nothing responds at this address: correct the address, or check for a firewall"
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(record.RecordHeader[:]) == "HTTP/" {
		return "the server uses plain http: correct the port, or write http://"
	}
	if strings.Contains(err.Error(), wantsTLS) {
		return "write https://"
	}
	return ""
}

// alertOf returns the alert with which a server ended a TLS handshake. Package crypto/tls has two types for alerts: the
// exported one is for QUIC.
func alertOf(err error) (tls.AlertError, bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Uint8 && v.Type().PkgPath() == "crypto/tls" {
			return tls.AlertError(v.Uint()), true
		}
	}
	return 0, false
}

// alertHint returns what to do if the server ends the TLS handshake with an alert of RFC 8446.
func alertHint(alert tls.AlertError) string {
	switch alert {
	case 42, 43, 44, 45, 46, 48: // bad, unsupported, revoked, expired, unknown certificate, and unknown authority
		return "the server rejects the client certificate: renew it, or use the one for this cluster"
	case 116:
		return "the server requires a client certificate: configure one"
	case 40: // handshake failure
		return "the server requires a client certificate, or shares no cipher with the client: configure one, or update " +
			"the server"
	case 70, 71: // protocol version, insufficient security
		return "the server supports neither TLS 1.2 nor 1.3, or shares no cipher with the client: update the server"
	case 112:
		return "the server does not know the requested name: correct the address, or set tls-server-name"
	}
	return ""
}
