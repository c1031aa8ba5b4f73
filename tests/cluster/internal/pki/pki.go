// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the certificates and keys of a cluster.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// skew is the time by which the validity of a certificate begins in the past.
	skew = time.Hour
)

// Pair is a certificate and its private key, PEM encoded.
type Pair struct{ Cert, Key []byte }

// Write stores the pair as name.crt and name.key. Only the owner can read the key.
func (p Pair) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600)
}

// CA is a certificate authority.
type CA struct {
	Pair
	cert *x509.Certificate
	key  crypto.Signer
}

// NewCA creates a self-signed authority.
func NewCA(name string) (*CA, error) {
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	pair, cert, key, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}
	return &CA{Pair: pair, cert: cert, key: key}, nil
}

// Client issues a client certificate: to Kubernetes, its common name is the user and its organizations are the groups.
func (ca *CA) Client(user string, groups ...string) (Pair, error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return ca.issue(template)
}

// Server issues a server certificate for these DNS names and IP addresses. It is also a client certificate, because
// etcd's HTTP gateway uses it to call etcd itself.
func (ca *CA) Server(name string, hosts ...string) (Pair, error) {
	template := certificate(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return ca.issue(template)
}

func (ca *CA) issue(template *x509.Certificate) (Pair, error) {
	pair, _, _, err := sign(template, ca)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate for %s: %w", template.Subject.CommonName, err)
	}
	return pair, nil
}

// SigningKey creates the pair that signs and verifies service account tokens. Cert is the public key.
func SigningKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("signing key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("signing key: %w", err)
	}
	private, err := encodeKey(key)
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), Key: private}, err
}

func certificate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: now.Add(-skew),
		NotAfter:  now.Add(validity),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// sign creates a key for the certificate, and signs the certificate with the authority. Without an authority, it is
// self-signed.
func sign(template *x509.Certificate, ca *CA) (Pair, *x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return Pair{}, nil, nil, err
	}
	parent, signer := template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: encoded}, cert, key, nil
}

// encodeKey encodes the key as SEC 1, the only form that all components of Kubernetes read.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
