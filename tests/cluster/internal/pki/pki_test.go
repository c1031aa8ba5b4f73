// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster/internal/pki"
)

func newCA(t *testing.T) (*pki.CA, *x509.CertPool) {
	t.Helper()
	ca, err := pki.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca.Cert) {
		t.Fatal("the authority's certificate is not PEM")
	}
	return ca, pool
}

func parse(t *testing.T, pair pki.Pair) *x509.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatalf("certificate and key do not match: %v", err)
	}
	return loaded.Leaf
}

func TestServerCertificatesAreValidOnlyForTheirHosts(t *testing.T) {
	ca, pool := newCA(t)
	pair, err := ca.Server("server", "localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, pair)
	for _, tt := range []struct {
		host string
		want bool
	}{{"localhost", true}, {"127.0.0.1", true}, {"example.com", false}, {"127.0.0.2", false}} {
		_, err := cert.Verify(x509.VerifyOptions{Roots: pool, DNSName: tt.host})
		if got := err == nil; got != tt.want {
			t.Errorf("Verify(%q) = %v, want success %t", tt.host, err, tt.want)
		}
	}
	_, stranger := newCA(t)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: stranger}); err == nil {
		t.Error("Verify succeeds with another authority")
	}
}

func TestClientCertificatesHaveUserAndGroupsAndAreNotServerCertificates(t *testing.T) {
	ca, pool := newCA(t)
	pair, err := ca.Client("jane", "dev", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, pair)
	if cert.Subject.CommonName != "jane" {
		t.Errorf("user = %q, want jane", cert.Subject.CommonName)
	}
	if diff := cmp.Diff([]string{"dev", "system:masters"}, cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	client := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := cert.Verify(client); err != nil {
		t.Errorf("Verify as a client: %v", err)
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: pool}); err == nil {
		t.Error("Verify as a server succeeds")
	}
}

func TestSigningKeyIsAPublicAndAPrivateKey(t *testing.T) {
	pair, err := pki.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		data  []byte
		parse func([]byte) error
	}{
		{"PUBLIC KEY", pair.Cert, func(der []byte) error { _, err := x509.ParsePKIXPublicKey(der); return err }},
		{"EC PRIVATE KEY", pair.Key, func(der []byte) error { _, err := x509.ParseECPrivateKey(der); return err }},
	} {
		block, _ := pem.Decode(tt.data)
		if block == nil || block.Type != tt.name {
			t.Fatalf("%s is %q", tt.name, tt.data)
		}
		if err := tt.parse(block.Bytes); err != nil {
			t.Errorf("parse %s: %v", tt.name, err)
		}
	}
}

func TestOnlyTheOwnerCanReadKeys(t *testing.T) {
	ca, _ := newCA(t)
	dir := t.TempDir()
	if err := ca.Write(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode of the key = %v, want 0600", got)
	}
}
