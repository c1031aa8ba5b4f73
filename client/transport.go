// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
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

// Timeouts of a connection. An HTTP/2 connection that receives nothing for pingAfter is pinged, and closed if there is
// no response within pingTimeout, so that a watch on a dead connection ends instead of waiting forever. An idle one is
// closed before the server closes it, which API servers do after 90 seconds: a write at that moment might be lost.
const (
	dialTimeout      = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 80 * time.Second
	pingAfter        = 20 * time.Second
	pingTimeout      = 10 * time.Second
)

// rereadTime is how long a file with an unchanged modification time and size is assumed to be unchanged. Some tools,
// such as rsync with -t, OSTree and Nix, replace files and keep both, so after that time the contents are compared.
const rereadTime = 10 * time.Second

// fileBytes is the maximum size of a file of certificates.
const fileBytes = 16 << 20

// readBytes is the size of the read buffer of an HTTP/1.1 connection. With the default, 4 KiB, reading took a quarter
// of the CPU time of a list of pods. HTTP/2 has buffers of its own.
const readBytes = 32 << 10

// headerBytes is the default maximum size of the header of a response, see wire.Limits.
const headerBytes = 1 << 20

// certSource returns the client certificate to present, or nil for none. The same pointer means that nothing has
// changed.
type certSource = func(context.Context) (*tls.Certificate, error)

// bounds limit what a connection keeps of a response. The zero value of a field is its default.
type bounds struct {
	header int64 // the header, see wire.Limits
	stream int   // what a slow reader has not read, see Options.StreamBufferBytes
}

func boundsOf(o *Options) *bounds {
	b := &bounds{stream: o.StreamBufferBytes}
	if o.Limits != nil {
		b.header = o.Limits.HeaderBytes
	}
	return b
}

// transport is the connection to one server. The files of its TLS settings may be replaced while it is in use, and its
// source may return another certificate. Both require new connections, because a connection keeps its certificates:
// requests in progress, such as watches, end on the old connections. So they do when a connection may be dead.
type transport struct {
	cfg     *config.Config
	upgrade bool    // for requests that are upgraded to streams
	bounds  *bounds // nil for the defaults
	files   []string
	certs   certSource // nil for none

	mu      sync.Mutex // guards the fields below
	current *http.Transport
	loaded  *config.Config   // cfg with the contents of its files instead of their names
	stamp   []os.FileInfo    // state of the files; nil for a missing one
	read    time.Time        // time of the last read
	cert    *tls.Certificate // the last result of certs
	retired []retired        // transports before the current one, oldest first
}

// retired is a transport that was replaced while requests may have been in progress on its connections. The connections
// close after they have been idle for idleTimeout.
type retired struct {
	*http.Transport
	at time.Time
}

// newTransports returns the transports of a configuration: for requests, and for requests that are upgraded to streams.
// It calls certs, which may be nil, for a client certificate before each request.
func newTransports(
	cfg *config.Config, certs certSource, b *bounds,
) (requests, upgrades http.RoundTripper, err error) {
	if err := checkPlain(cfg); err != nil {
		return nil, nil, err
	}
	if requests, err = newTransport(cfg, false, certs, b); err != nil {
		return nil, nil, err
	}
	upgrades, err = newTransport(cfg, true, certs, b)
	return requests, upgrades, err
}

func newTransport(cfg *config.Config, upgrade bool, certs certSource, b *bounds) (*transport, error) {
	t := &transport{cfg: cfg, upgrade: upgrade, certs: certs, bounds: b}
	for _, file := range []string{cfg.CAFile, cfg.ClientCertFile, cfg.ClientKeyFile} {
		if file != "" {
			t.files = append(t.files, file)
		}
	}
	t.stamp, t.read = stampsOf(t.files), time.Now()
	var err error
	if t.loaded, err = loadFiles(cfg); err != nil {
		return nil, err
	}
	t.current, err = newHTTP(t.loaded, upgrade, nil, t.bounds)
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

// CloseIdleConnections closes the idle connections.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current.CloseIdleConnections()
	t.closeRetired()
}

// closeRetired closes the idle connections of replaced transports. The caller holds the mutex.
func (t *transport) closeRetired() {
	t.retired = slices.DeleteFunc(t.retired, func(old retired) bool {
		old.CloseIdleConnections()
		return time.Since(old.at) > idleTimeout
	})
}

// connection returns the transport for the next request. If the files cannot be used, for example because only one of a
// pair was replaced, it keeps the current one and tries again later.
func (t *transport) connection(cert *tls.Certificate) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, stamp := time.Now(), stampsOf(t.files)
	fresh := len(t.files) == 0 || now.Sub(t.read) < rereadTime
	if cert == t.cert && fresh && slices.EqualFunc(stamp, t.stamp, sameStamp) {
		return t.current
	}
	t.read = now
	loaded, err := loadFiles(t.cfg)
	switch {
	case err != nil:
		return t.current
	case cert == t.cert && sameFiles(loaded, t.loaded):
		t.stamp = stamp
		return t.current
	}
	if t.replace(loaded, cert) {
		t.stamp = stamp
	}
	return t.current
}

// reconnect makes later requests use new connections. Requests in progress end on the current ones.
func (t *transport) reconnect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replace(t.loaded, t.cert)
}

// replace replaces the current transport, and reports whether the new one can be used. The caller holds the mutex.
func (t *transport) replace(loaded *config.Config, cert *tls.Certificate) bool {
	next, err := newHTTP(loaded, t.upgrade, cert, t.bounds)
	if err != nil {
		return false
	}
	t.retired = append(t.retired, retired{t.current, time.Now()})
	t.closeRetired()
	t.current, t.loaded, t.cert = next, loaded, cert
	return true
}

func stampsOf(files []string) []os.FileInfo {
	stamps := make([]os.FileInfo, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			stamps[i] = info
		}
	}
	return stamps
}

func sameStamp(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// loadFiles returns a configuration with the contents of its TLS files instead of their names.
func loadFiles(cfg *config.Config) (*config.Config, error) {
	loaded := *cfg
	loaded.CAFile, loaded.ClientCertFile, loaded.ClientKeyFile = "", "", ""
	var err error
	if loaded.CAData, err = contents(cfg.CAFile, cfg.CAData); err != nil {
		return nil, fmt.Errorf("certificate-authority: %w", err)
	}
	if loaded.ClientCertData, err = contents(cfg.ClientCertFile, cfg.ClientCertData); err != nil {
		return nil, fmt.Errorf("client-certificate: %w", err)
	}
	key, err := contents(cfg.ClientKeyFile, []byte(cfg.ClientKeyData))
	if err != nil {
		return nil, fmt.Errorf("client-key: %w", err)
	}
	loaded.ClientKeyData = config.Secret(key)
	return &loaded, nil
}

// sameFiles reports whether two loaded configurations have the same file contents.
func sameFiles(a, b *config.Config) bool {
	return bytes.Equal(a.CAData, b.CAData) && bytes.Equal(a.ClientCertData, b.ClientCertData) &&
		a.ClientKeyData == b.ClientKeyData
}

// checkPlain rejects credentials that would be sent in clear text. A configuration that was loaded from a kubeconfig
// has no credentials if its server uses http.
func checkPlain(cfg *config.Config) error {
	secret := cfg.BearerToken != "" || cfg.BearerTokenFile != "" || cfg.Username != "" || cfg.Password != "" ||
		cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0
	if secret && strings.HasPrefix(strings.ToLower(cfg.Server), "http:") {
		return errors.New("credentials are not sent over http: use an https server, or remove the credentials")
	}
	return nil
}

// newHTTP returns a transport for a loaded configuration. If cert is not nil, it replaces the client certificate.
//
// Upgrades require HTTP/1.1. Each has a connection of its own: package net/http sends a request without a body again if
// a reused connection ends before the response, but the server may have started the command.
func newHTTP(cfg *config.Config, upgrade bool, cert *tls.Certificate, b *bounds) (*http.Transport, error) {
	tlsConfig, err := newTLS(cfg)
	if err != nil {
		return nil, err
	}
	if cert != nil {
		presents(tlsConfig, cert)
	}
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		// TCP detects a dead peer in 40 seconds. HTTP/1.1 needs this, because it has no pings.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 5 * time.Second, Count: 4},
		Control:         limitUnacknowledged(upgrade),
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(!upgrade)
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		DisableCompression:     cfg.DisableCompression,
		DisableKeepAlives:      upgrade,
		MaxIdleConnsPerHost:    25,
		MaxResponseHeaderBytes: headerBytes,
		IdleConnTimeout:        idleTimeout,
		ReadBufferSize:         readBytes,
	}
	if b != nil {
		t.HTTP2.MaxReceiveBufferPerStream = b.stream
		if b.header > 0 {
			t.MaxResponseHeaderBytes = b.header
		}
	}
	return t, useProxy(t, cfg, dialer)
}

func newTLS(cfg *config.Config) (*tls.Config, error) {
	t := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         cfg.TLSServerName,
		InsecureSkipVerify: cfg.InsecureSkipTLSVerify,
	}
	if len(cfg.CAData) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(cfg.CAData) {
			return nil, errors.New("certificate-authority: contains no PEM certificate")
		}
	}
	if len(cfg.ClientCertData) > 0 {
		pair, err := tls.X509KeyPair(cfg.ClientCertData, []byte(cfg.ClientKeyData))
		if err != nil {
			return nil, fmt.Errorf("client-certificate: %w", err)
		}
		presents(t, &pair)
	}
	return t, nil
}

// presents makes a client present a certificate to each server that requests one, as client-go does. Package tls
// withholds a certificate whose authority is not among those that the server lists. The server would then reject the
// client because it has no certificate.
func presents(t *tls.Config, cert *tls.Certificate) {
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
}

// contents returns the contents of a file, or data if file is empty. An empty file is an error, because it is being
// written.
func contents(file string, data []byte) ([]byte, error) {
	if file == "" {
		return data, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, fileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, &fs.PathError{Op: "read", Path: file, Err: errors.New("is empty")}
	case len(data) > fileBytes:
		return nil, &fs.PathError{Op: "read", Path: file, Err: fmt.Errorf("is larger than %d bytes", fileBytes)}
	}
	return data, nil
}
