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
	"net/url"
	"slices"
	"strings"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/redact"
)

// useProxy makes a transport use the proxy of the configuration, or otherwise that of the environment.
func useProxy(t *http.Transport, cfg *config.Config, dialer *net.Dialer) error {
	proxy, err := proxyOf(cfg)
	if proxy == nil || err != nil {
		return err
	}
	if proxy.Scheme == "https" {
		// The transport would verify the proxy with the settings for the server: its name, its certificate authority and the
		// client certificate. So this code secures the connection to the proxy, and the transport treats it as plain.
		t.DialContext = dialTLS(dialer, proxyTLS(cfg, proxy.Hostname()))
		if proxy.Port() == "" {
			proxy.Host = net.JoinHostPort(proxy.Hostname(), "443")
		}
		proxy.Scheme = "http"
	}
	t.Proxy = http.ProxyURL(proxy)
	t.OnProxyConnectResponse = func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
		return proxyResponse(proxy, resp)
	}
	return nil
}

// proxyOf returns the proxy for the server, or nil for none. Its URL may contain a password, which no error shows.
func proxyOf(cfg *config.Config) (*url.URL, error) {
	if cfg.ProxyURL != "" {
		u, err := url.Parse(cfg.ProxyURL)
		if err != nil {
			return nil, errors.New("proxy-url: is not a URL")
		}
		return u, nil
	}
	server, err := url.Parse(cfg.Server)
	if err != nil {
		return nil, err
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: server})
	if proxy == nil && err == nil {
		return nil, nil
	}
	if err != nil && strings.Contains(err.Error(), "CGI") {
		return nil, errors.New("HTTP_PROXY is set in a program that runs under CGI (REQUEST_METHOD is set), where it may " +
			"come from the Proxy header of a request: set proxy-url, or unset HTTP_PROXY")
	}
	// A value that is not a URL is treated as a host name, with http:// before it.
	schemes := []string{"http", "https", "socks5", "socks5h"}
	if err != nil || !slices.Contains(schemes, proxy.Scheme) || proxy.Hostname() == "" ||
		strings.HasSuffix(proxy.Host, ":") {
		return nil, errors.New("the proxy that HTTPS_PROXY or HTTP_PROXY names is not an http, https or socks5 URL: " +
			"correct the variable")
	}
	own := *proxy // the environment's URL is shared
	return &own, nil
}

// addProxyPassword adds the password of the proxy of a configuration to the credentials that are sent.
func addProxyPassword(sent *redact.Secrets, cfg *config.Config) {
	if proxy, err := proxyOf(cfg); err == nil && proxy != nil {
		password, _ := proxy.User.Password()
		sent.AddPassword(proxy.User.Username(), password)
	}
}

// proxyTLS returns the settings for the connection to an https proxy. Its certificate may be signed by an authority of
// the system or of the configuration.
func proxyTLS(cfg *config.Config, host string) *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: cfg.InsecureSkipTLSVerify}
	if len(cfg.CAData) == 0 {
		return t
	}
	var err error
	if t.RootCAs, err = x509.SystemCertPool(); err != nil {
		t.RootCAs = x509.NewCertPool()
	}
	t.RootCAs.AppendCertsFromPEM(cfg.CAData)
	return t
}

// dialTLS returns a function that opens TLS connections.
func dialTLS(dialer *net.Dialer, cfg *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, cfg)
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		return secure, nil
	}
}

// proxyError is the error of a proxy that does not connect to the server.
type proxyError struct {
	proxy  string // host and port
	code   int
	status string
}

// Error returns the proxy and the status of its response.
func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy %s responded with %s", e.proxy, e.status)
}

// proxyResponse returns the error for a proxy's response to CONNECT. If the proxy cannot reach the server either, it is
// a network error.
func proxyResponse(proxy *url.URL, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	err := &proxyError{proxy: proxy.Host, code: resp.StatusCode, status: resp.Status}
	if resp.StatusCode < 500 {
		return err
	}
	return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
}

// The remedies for a proxy that does not connect to the server.
const (
	proxyPassword = "set a valid user name and password for the proxy in proxy-url or HTTPS_PROXY"
	proxyLost     = "the proxy cannot reach the server: correct the address, or check the proxy"
)

// proxyHint returns what to do if a proxy caused the error.
func proxyHint(err error) string {
	if refused, ok := errors.AsType[*proxyError](err); ok {
		switch {
		case refused.code == http.StatusProxyAuthRequired:
			return proxyPassword
		case refused.code >= 500:
			return proxyLost
		}
		return "allow the proxy to connect to the server, or set another one in proxy-url or HTTPS_PROXY"
	}
	op, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && strings.HasPrefix(op.Op, "socks ") && strings.Contains(op.Err.Error(), "authentication"):
		return proxyPassword
	case ok && strings.HasPrefix(op.Op, "socks "):
		return proxyLost
	case !ok || op.Op != "proxyconnect":
		return ""
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the proxy's certificate is not trusted: correct proxy-url, or add its authority to certificate-authority"
	}
	return "the proxy cannot be reached: correct proxy-url or HTTPS_PROXY"
}
