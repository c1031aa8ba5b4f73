// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/kube-go/sdk/core/wire"
)

// The keys of the secret's data. The names are those of other tools.
const (
	caCertKey   = "ca.crt"   // the bundle, oldest authority first
	caKeyKey    = "ca.key"   // the keys of the authorities that may sign
	certKey     = "tls.crt"  // the serving certificate
	privateKey  = "tls.key"  // its key
	rotationKey = "rotation" // what certificates do not contain, as JSON
)

// backdate is how much earlier than now certificates begin, for clocks that are slow.
const backdate = time.Hour

// material is the certificates and keys of a secret, and what the rotation knows of them.
type material struct {
	trust
	bundle     []byte                       // PEM
	certs      map[string]*x509.Certificate // of authorities, by id
	keys       map[string]*ecdsa.PrivateKey // of authorities that may sign, by id
	serving    *tls.Certificate             // or nil
	servingPEM [2][]byte                    // certificate and key
}

// rotationState is the JSON of rotationKey.
type rotationState struct {
	Published time.Time            `json:"published,omitzero"`
	Versions  string               `json:"versions,omitempty"`
	Last      map[string]time.Time `json:"last,omitempty"` // by the id of an authority
}

var errForeign = errors.New("has data that this package has not written: name another secret in Options.Secret, " +
	"or mount the secret and set Options.CertDir")

// parse reads the data of a secret. Errors do not contain data.
func parse(data map[string][]byte) (*material, error) {
	m := &material{certs: map[string]*x509.Certificate{}, keys: map[string]*ecdsa.PrivateKey{}}
	if len(data[rotationKey]) == 0 {
		for _, value := range data {
			if len(value) > 0 {
				return nil, errForeign
			}
		}
		return m, nil
	}
	var state rotationState
	if wire.UnmarshalJSON(data[rotationKey], &state) != nil {
		return nil, fmt.Errorf("%s is not valid", rotationKey)
	}
	m.published, m.versions = state.Published, state.Versions
	certs, err := certificates(data[caCertKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caCertKey, err)
	}
	keys, err := privateKeys(data[caKeyKey])
	if err != nil {
		return nil, err
	}
	for _, cert := range certs {
		a := authority{id: idOf(cert), begin: cert.NotBefore, end: cert.NotAfter}
		a.last = state.Last[a.id]
		for _, key := range keys {
			if key.PublicKey.Equal(cert.PublicKey) {
				m.keys[a.id], a.signs = key, true
			}
		}
		m.certs[a.id] = cert
		m.authorities = append(m.authorities, a)
	}
	m.bundle = encodeBundle(certs)
	return m, m.parseServing(data[certKey], data[privateKey])
}

// parseServing reads the serving certificate, which must be of an authority of the bundle.
func (m *material) parseServing(cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s and %s are not a certificate and its key", certKey, privateKey)
	}
	for id, ca := range m.certs {
		if pair.Leaf.CheckSignatureFrom(ca) == nil {
			names := slices.Clone(pair.Leaf.DNSNames)
			for _, ip := range pair.Leaf.IPAddresses {
				names = append(names, ip.String())
			}
			slices.Sort(names)
			m.leaf = leaf{issuer: id, begin: pair.Leaf.NotBefore, end: pair.Leaf.NotAfter, names: names}
			m.serving, m.servingPEM = &pair, [2][]byte{cert, key}
			return nil
		}
	}
	return fmt.Errorf("%s is not signed by an authority of %s", certKey, caCertKey)
}

// change returns the material after a decision, with new keys.
func (m *material) change(d decision, p policy, now time.Time) (*material, error) {
	next := &material{
		certs: maps.Clone(m.certs), keys: maps.Clone(m.keys), serving: m.serving, servingPEM: m.servingPEM,
	}
	if next.certs == nil {
		next.certs, next.keys = map[string]*x509.Certificate{}, map[string]*ecdsa.PrivateKey{}
	}
	var added authority
	if d.add {
		cert, key, err := newAuthority(p, now)
		if err != nil {
			return nil, err
		}
		added = authority{id: idOf(cert), begin: cert.NotBefore, end: cert.NotAfter, signs: true}
		next.certs[added.id], next.keys[added.id] = cert, key
	}
	next.trust = m.after(d, p, added, now)
	var certs []*x509.Certificate
	for _, a := range next.authorities {
		certs = append(certs, next.certs[a.id])
		if !a.signs {
			delete(next.keys, a.id)
		}
	}
	next.bundle = encodeBundle(certs)
	if d.sign {
		issuer := next.leaf.issuer
		if err := next.signServing(next.certs[issuer], next.keys[issuer], now); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// data returns the data of the secret.
func (m *material) data() (map[string][]byte, error) {
	state := rotationState{Published: m.published, Versions: m.versions, Last: map[string]time.Time{}}
	var keys bytes.Buffer
	for _, a := range m.authorities {
		if !a.last.IsZero() {
			state.Last[a.id] = a.last
		}
		if key := m.keys[a.id]; key != nil {
			block, err := encodeKey(key)
			if err != nil {
				return nil, err
			}
			keys.Write(block)
		}
	}
	rotation, err := wire.MarshalJSON(&state)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		caCertKey: m.bundle, caKeyKey: keys.Bytes(), certKey: m.servingPEM[0], privateKey: m.servingPEM[1],
		rotationKey: rotation,
	}, nil
}

func newAuthority(p policy, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	template := &x509.Certificate{
		NotAfter: now.Add(p.caLife).Truncate(time.Second), KeyUsage: x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	cert, key, err := create(template, p.names[0]+" webhook CA", nil, nil, now)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	parsed, err := x509.ParseCertificate(cert)
	return parsed, key, err
}

// signServing makes the serving certificate that m.leaf describes.
func (m *material) signServing(ca *x509.Certificate, caKey *ecdsa.PrivateKey, now time.Time) error {
	template := &x509.Certificate{
		NotAfter: m.leaf.end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range m.leaf.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, key, err := create(template, "", ca, caKey, now)
	if err != nil {
		return fmt.Errorf("make a serving certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	m.serving, m.servingPEM = &pair, [2][]byte{certPEM, keyPEM}
	return err
}

// create makes a key and a certificate for it, which is signed by a parent or by itself.
func create(
	template *x509.Certificate, name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, now time.Time,
) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	template.NotBefore = now.Add(-backdate).Truncate(time.Second)
	if name != "" { // a name of its own for each authority, since clients find issuers by their names
		if len(name) > 64 { // the limit of X.509
			name = name[:64]
		}
		template.Subject = pkix.Name{CommonName: name, SerialNumber: hex.EncodeToString(serial.Bytes())}
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	return der, key, err
}

// idOf returns the fingerprint of a certificate.
func idOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

func encodeBundle(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, cert := range certs {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return b.Bytes()
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, errors.New("a key can't be encoded") // without the key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// certificates returns the certificates of PEM blocks.
func certificates(data []byte) (certs []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("has no certificate")
	}
	return certs, nil
}

// privateKeys returns the keys of PEM blocks.
func privateKeys(data []byte) (keys []*ecdsa.PrivateKey, err error) {
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			return keys, nil
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, ok := parsed.(*ecdsa.PrivateKey)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s has an invalid key", caKeyKey)
		}
		keys = append(keys, key)
	}
}
