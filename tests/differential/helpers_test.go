// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
)

// pair is a self-signed certificate and its key, in PEM.
type pair struct{ cert, key []byte }

// The pairs in kubeconfigs, created once: a valid one and an expired one.
var (
	validPair = sync.OnceValue(func() pair { return must(newPair("ann", time.Hour)) })
	oldPair   = sync.OnceValue(func() pair { return must(newPair("ann", -time.Hour)) })
)

func newPair(name string, lives time.Duration) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(lives),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// filler replaces the placeholders in a file.
func filler(dir string) func(string) string {
	data := base64.StdEncoding.EncodeToString
	return strings.NewReplacer(
		"$DIR", dir, "$PEMKEY", string(validPair().key), "$PEM", string(validPair().cert),
		"$CERT", data(validPair().cert), "$KEY", data(validPair().key),
		"$OLDCERT", data(oldPair().cert), "$OLDKEY", data(oldPair().key),
	).Replace
}

func toJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
