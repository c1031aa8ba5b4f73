// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
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

// transport is the connection to one server. The files that its TLS settings come from may be replaced while it is in
// use. That takes new connections, since a connection keeps the certificates it began with: requests that are under
// way, such as watches, end on the old ones.
type transport struct {
	cfg   *config.Config
	files []string

	mu      sync.Mutex // guards what follows
	current *http.Transport
	stamp   []fileStamp
}

// fileStamp changes when a file does.
type fileStamp struct {
	modified time.Time
	size     int64
}

// newTransport returns the transport of a configuration.
func newTransport(cfg *config.Config) (*transport, error) {
	if err := checkPlain(cfg); err != nil {
		return nil, err
	}
	t := &transport{cfg: cfg}
	for _, file := range []string{cfg.CAFile, cfg.ClientCertFile, cfg.ClientKeyFile} {
		if file != "" {
			t.files = append(t.files, file)
		}
	}
	t.stamp = stampsOf(t.files)
	current, err := newHTTP(cfg)
	t.current = current
	return t, err
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.connection().RoundTrip(r)
}

// connection returns what to send requests on now. Files that can't be used, such as half a pair, are left for later.
func (t *transport) connection() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.files) == 0 {
		return t.current
	}
	stamp := stampsOf(t.files)
	if slices.Equal(stamp, t.stamp) {
		return t.current
	}
	next, err := newHTTP(t.cfg)
	if err != nil {
		return t.current
	}
	t.current.CloseIdleConnections()
	t.current, t.stamp = next, stamp
	return next
}

func stampsOf(files []string) []fileStamp {
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

// newHTTP reads the files of a configuration and returns a transport with what they hold.
func newHTTP(cfg *config.Config) (*http.Transport, error) {
	tlsConfig, err := newTLS(cfg)
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if cfg.ProxyURL != "" {
		u, err := url.Parse(cfg.ProxyURL)
		if err != nil {
			return nil, errors.New("proxy-url: is not a URL") // it may hold a password
		}
		proxy = http.ProxyURL(u)
	}
	dialer := net.Dialer{
		Timeout: dialTimeout,
		// Below HTTP a dead peer is noticed in 40 seconds: HTTP/1.1 has no pings of its own.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 5 * time.Second, Count: 4},
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: handshakeTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		DisableCompression:  cfg.DisableCompression,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     idleTimeout,
	}, nil
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
