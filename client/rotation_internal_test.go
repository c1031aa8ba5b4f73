// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client/config"
)

// newPEM returns a self-signed certificate and its key, each padded to a fixed size.
func newPEM(t testing.TB) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	padded := func(kind string, data []byte) []byte {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
		return append(text, bytes.Repeat([]byte("\n"), 1000-len(text))...)
	}
	return padded("CERTIFICATE", der), padded("PRIVATE KEY", keyDER)
}

// TestRotationThatKeepsTimeAndSizeIsNoticed checks that replaced files of the same size and time are used after ten
// seconds, and that the files are not read more often.
func TestRotationThatKeepsTimeAndSizeIsNoticed(t *testing.T) {
	dir, at := t.TempDir(), time.Now().Add(-time.Hour)
	place := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil { // in place: the inode is the same, too
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	synctest.Test(t, func(t *testing.T) {
		ca, _ := newPEM(t)
		cert, key := newPEM(t)
		cfg := &config.Config{
			Server: "https://kube.test", CAFile: place("ca.crt", ca),
			ClientCertFile: place("tls.crt", cert), ClientKeyFile: place("tls.key", key),
		}
		transport, err := newTransport(cfg, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		current := transport.connection(nil)
		expect := func(when string, changed bool) {
			t.Helper()
			next := transport.connection(nil)
			if (next != current) != changed {
				t.Errorf("%s: new connections = %v, want %v", when, next != current, changed)
			}
			current = next
		}
		expect("at once", false)
		time.Sleep(time.Hour)
		expect("after an hour without a change", false)

		ca, _ = newPEM(t)
		place("ca.crt", ca)
		time.Sleep(rereadTime - time.Nanosecond)
		expect("before ten seconds", false)
		time.Sleep(time.Nanosecond)
		expect("with another authority, after ten seconds", true)

		cert, key = newPEM(t)
		place("tls.crt", cert)
		time.Sleep(rereadTime)
		expect("with a certificate that does not match its key", false)
		place("tls.key", key)
		time.Sleep(rereadTime)
		expect("with another pair", true)

		if err := os.Chtimes(cfg.CAFile, at, at.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		expect("with another time and the same content", false)
	})
}
