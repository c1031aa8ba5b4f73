// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/kube-go/sdk/client/config"
)

// Timeouts of a connection. A connection that is silent for pingAfter is pinged, and given up when the ping is not
// answered within pingTimeout, so that a watch on a dead connection ends instead of waiting for ever.
const (
	dialTimeout      = 30 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	pingAfter        = 20 * time.Second
	pingTimeout      = 10 * time.Second
)

// newTransport returns the transport for requests.
func newTransport(cfg *config.Config) (*http.Transport, error) {
	tlsConfig, err := newTLS(cfg)
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if cfg.ProxyURL != "" {
		u, err := url.Parse(cfg.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("proxy-url: %w", err)
		}
		proxy = http.ProxyURL(u)
	}
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
		TLSClientConfig:       tlsConfig,
		TLSHandshakeTimeout:   handshakeTimeout,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		DisableCompression:    cfg.DisableCompression,
		MaxIdleConnsPerHost:   25,
		IdleConnTimeout:       idleTimeout,
		ExpectContinueTimeout: time.Second,
	}, nil
}

func newTLS(cfg *config.Config) (*tls.Config, error) {
	t := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         cfg.TLSServerName,
		InsecureSkipVerify: cfg.InsecureSkipTLSVerify, //nolint:gosec // asked for by the configuration
	}
	ca := cfg.CAData
	if cfg.CAFile != "" && len(ca) == 0 {
		data, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate-authority: %w", err)
		}
		ca = data
	}
	if len(ca) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("certificate-authority: no PEM certificate in it")
		}
	}
	switch {
	case cfg.ClientCertFile != "" || cfg.ClientKeyFile != "":
		pair := &certFiles{cert: cfg.ClientCertFile, key: cfg.ClientKeyFile, certData: cfg.ClientCertData, keyData: []byte(cfg.ClientKeyData)}
		if _, err := pair.load(); err != nil {
			return nil, err
		}
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.load() }
	case len(cfg.ClientCertData) > 0:
		pair, err := keyPair(cfg.ClientCertData, []byte(cfg.ClientKeyData))
		if err != nil {
			return nil, err
		}
		t.Certificates = []tls.Certificate{*pair}
	}
	return t, nil
}

func keyPair(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	return &pair, nil
}

// certFiles is a client certificate whose files may be replaced while it is in use; they are looked at when a connection
// is made.
type certFiles struct {
	cert, key         string
	certData, keyData []byte // in place of a file that is not named

	mu     sync.Mutex // guards what follows
	loaded *tls.Certificate
	stamp  [2]time.Time
}

func (f *certFiles) load() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamp := [2]time.Time{modTime(f.cert), modTime(f.key)}
	if f.loaded != nil && stamp == f.stamp {
		return f.loaded, nil
	}
	pair, err := f.read()
	if err != nil {
		if f.loaded != nil {
			return f.loaded, nil // the files are being replaced right now; the old pair may still do
		}
		return nil, err
	}
	f.loaded, f.stamp = pair, stamp
	return pair, nil
}

func (f *certFiles) read() (*tls.Certificate, error) {
	cert, key := f.certData, f.keyData
	var err error
	if f.cert != "" {
		if cert, err = os.ReadFile(f.cert); err != nil {
			return nil, fmt.Errorf("client-certificate: %w", err)
		}
	}
	if f.key != "" {
		if key, err = os.ReadFile(f.key); err != nil {
			return nil, fmt.Errorf("client-key: %w", err)
		}
	}
	return keyPair(cert, key)
}

func modTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
