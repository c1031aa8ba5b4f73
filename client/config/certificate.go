// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// CheckClientCertificate returns an error that wraps [ErrCertificateExpired] if the current client certificate has
// expired. The error says when it expired. Without a client certificate, CheckClientCertificate returns nil.
//
// Loading checks this too, with five minutes of grace, if the certificate is the only credential, because the server
// would reject it. Otherwise an expired certificate is not yet a failure: a token may suffice, the file may be
// replaced, and the server's clock decides. So call CheckClientCertificate after the server has rejected a request, and
// add the result to the server's error.
func (c *Config) CheckClientCertificate(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p := place{stanza: c.Source, goNames: true}
	if err := c.checkExpiry(osEnv(), p, 0); err != nil {
		return err
	}
	return nil
}

// checkExpiry reports a client certificate that expired longer ago than grace.
func (c *Config) checkExpiry(e env, p place, grace time.Duration) *FieldError {
	data := c.ClientCertData
	if len(data) == 0 && c.ClientCertFile != "" {
		data, _ = e.readFile(c.ClientCertFile) // an unreadable file is reported where the certificate is used
	}
	cert := firstCertificate(data)
	if cert == nil {
		return nil
	}
	since := time.Since(cert.NotAfter)
	if since <= grace {
		return nil
	}
	field := source("client-certificate", c.ClientCertFile)
	err := p.errorf(field, "renew it, or get a new kubeconfig", "expired %s ago, at %s",
		duration(since), cert.NotAfter.UTC().Format(time.RFC3339))
	err.Err = ErrCertificateExpired
	return err
}

// duration formats d in the largest unit of which it has at least two.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}} {
		if d >= 2*unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return d.Round(time.Second).String()
}

func firstCertificate(data []byte) *x509.Certificate {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			return cert
		}
	}
}

func hasCertificate(data []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(data) }
