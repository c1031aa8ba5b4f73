// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/client/config"
)

// Timeouts of a connection. A connection that is silent for pingAfter is pinged, and given up when the ping is not
// answered within pingTimeout, so that a watch on a dead connection ends instead of waiting for ever.
const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	pingAfter        = 20 * time.Second
	pingTimeout      = 10 * time.Second
)

// headerBytes is how long the header of an answer may be.
const headerBytes = 1 << 20

// certSource returns the client certificate to present, nil for none. A pointer that it has returned before means that
// nothing has changed.
type certSource = func(context.Context) (*tls.Certificate, error)

// transport is the connection to one server. The files that its TLS settings come from may be replaced while it is in
// use, and a source may hand out another certificate. That takes new connections, since a connection keeps the
// certificates it began with: requests that are under way, such as watches, end on the old ones.
type transport struct {
	cfg       *config.Config
	protocols *http.Protocols
	files     []string
	certs     certSource // nil for none

	mu      sync.Mutex // guards what follows
	current *http.Transport
	stamp   []fileStamp
	cert    *tls.Certificate // of certs
	retired []retired        // the latest before the current one, oldest first
}

// retired is what was replaced while requests may have been under way on its connections, which close by themselves when
// they have been idle for idleTimeout.
type retired struct {
	*http.Transport
	at time.Time
}

// fileStamp changes when a file does.
type fileStamp struct {
	modified time.Time
	size     int64
}

// newTransports returns the transports of a configuration: for requests, and for those that are upgraded to streams.
// Certs, which may be nil, is asked for a client certificate before each request.
func newTransports(cfg *config.Config, certs certSource) (requests, upgrades http.RoundTripper, err error) {
	if err := checkPlain(cfg); err != nil {
		return nil, nil, err
	}
	if requests, err = newTransport(cfg, protocols(true), certs); err != nil {
		return nil, nil, err
	}
	upgrades, err = newTransport(cfg, protocols(false), certs)
	return requests, upgrades, err
}

// protocols returns HTTP/1.1, with HTTP/2 or without.
func protocols(http2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(http2)
	return p
}

func newTransport(cfg *config.Config, protocols *http.Protocols, certs certSource) (*transport, error) {
	t := &transport{cfg: cfg, protocols: protocols, certs: certs}
	for _, file := range []string{cfg.CAFile, cfg.ClientCertFile, cfg.ClientKeyFile} {
		if file != "" {
			t.files = append(t.files, file)
		}
	}
	t.stamp = stampsOf(t.files)
	current, err := newHTTP(cfg, protocols, nil)
	t.current = current
	return t, err
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var cert *tls.Certificate
	if t.certs != nil {
		var err error
		if cert, err = t.certs(r.Context()); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, &credentialError{err}
		}
	}
	return t.connection(cert).RoundTrip(r)
}

// CloseIdleConnections closes the connections that nothing uses.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current.CloseIdleConnections()
	t.closeRetired()
}

// closeRetired closes the connections of replaced certificates that nothing uses. The caller holds the mutex.
func (t *transport) closeRetired() {
	t.retired = slices.DeleteFunc(t.retired, func(old retired) bool {
		old.CloseIdleConnections()
		return time.Since(old.at) > idleTimeout
	})
}

// connection returns what to send requests on now. Files that can't be used, such as half a pair, are left for later.
func (t *transport) connection(cert *tls.Certificate) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	stamp := stampsOf(t.files)
	if cert == t.cert && slices.Equal(stamp, t.stamp) {
		return t.current
	}
	next, err := newHTTP(t.cfg, t.protocols, cert)
	if err != nil {
		return t.current
	}
	t.retired = append(t.retired, retired{t.current, time.Now()})
	t.closeRetired()
	t.current, t.stamp, t.cert = next, stamp, cert
	return next
}

func stampsOf(files []string) []fileStamp {
	if len(files) == 0 {
		return nil
	}
	stamps := make([]fileStamp, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			stamps[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

// checkPlain refuses to send secrets in clear text. What was loaded from a kubeconfig holds none when it means http.
func checkPlain(cfg *config.Config) error {
	secret := cfg.BearerToken != "" || cfg.BearerTokenFile != "" || cfg.Username != "" || cfg.Password != "" ||
		cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0
	if secret && strings.HasPrefix(strings.ToLower(cfg.Server), "http:") {
		return errors.New("credentials are not sent over http: use an https server, or remove the credentials")
	}
	return nil
}

// newHTTP reads the files of a configuration and returns a transport with what they hold, and with a client certificate
// unless it is nil.
func newHTTP(cfg *config.Config, protocols *http.Protocols, cert *tls.Certificate) (*http.Transport, error) {
	tlsConfig, err := newTLS(cfg)
	if err != nil {
		return nil, err
	}
	if cert != nil {
		tlsConfig.Certificates = []tls.Certificate{*cert}
	}
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		// Below HTTP a dead peer is noticed in 40 seconds: HTTP/1.1 has no pings of its own.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 5 * time.Second, Count: 4},
	}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		DisableCompression:     cfg.DisableCompression,
		MaxIdleConnsPerHost:    25,
		MaxResponseHeaderBytes: headerBytes,
		IdleConnTimeout:        idleTimeout,
	}
	return t, useProxy(t, cfg, dialer)
}

func newTLS(cfg *config.Config) (*tls.Config, error) {
	t := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         cfg.TLSServerName,
		InsecureSkipVerify: cfg.InsecureSkipTLSVerify,
	}
	ca, err := contents(cfg.CAFile, cfg.CAData)
	if err != nil {
		return nil, fmt.Errorf("certificate-authority: %w", err)
	}
	if len(ca) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("certificate-authority: no PEM certificate in it")
		}
	}
	cert, err := contents(cfg.ClientCertFile, cfg.ClientCertData)
	if err != nil {
		return nil, fmt.Errorf("client-certificate: %w", err)
	}
	key, err := contents(cfg.ClientKeyFile, []byte(cfg.ClientKeyData))
	if err != nil {
		return nil, fmt.Errorf("client-key: %w", err)
	}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client-certificate: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// contents returns what a file holds, or else data. A file that is empty is being written.
func contents(file string, data []byte) ([]byte, error) {
	if file == "" {
		return data, nil
	}
	data, err := os.ReadFile(file)
	if err == nil && len(data) == 0 {
		err = &fs.PathError{Op: "read", Path: file, Err: errors.New("is empty")}
	}
	return data, err
}
