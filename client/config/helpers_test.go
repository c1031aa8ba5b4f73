// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"flag"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pair is a self-signed certificate and its key, as PEM.
type pair struct{ cert, key []byte }

// The pairs that the tests share, each created once: a valid one, another valid one, and one that expired three days
// ago.
var (
	validPair = sync.OnceValue(func() pair { return newPair(24 * time.Hour) })
	otherPair = sync.OnceValue(func() pair { return newPair(24 * time.Hour) })
	oldPair   = sync.OnceValue(func() pair { return newPair(-72*time.Hour - time.Minute) })
)

// newPair returns a pair that expires after end, which is negative for a pair that has already expired.
func newPair(end time.Duration) pair {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	notAfter := time.Now().Add(end)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "ann"},
		NotBefore:    notAfter.Add(-365 * 24 * time.Hour),
		NotAfter:     notAfter,
	}
	cert := must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))
	key := must(x509.MarshalPKCS8PrivateKey(private))
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// expand replaces placeholders with certificates and keys: $CERT, $KEY, $OTHERKEY, $OLDCERT, $OLDKEY.
func expand(text string) string {
	data := base64.StdEncoding.EncodeToString
	return strings.NewReplacer(
		"$CERT", data(validPair().cert), "$KEY", data(validPair().key), "$OTHERKEY", data(otherPair().key),
		"$OLDCERT", data(oldPair().cert), "$OLDKEY", data(oldPair().key),
	).Replace(text)
}

// writeFiles writes files to a new directory and returns the directory.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func parse(t testing.TB, text, file string) *config.Kubeconfig {
	t.Helper()
	kc, err := config.Parse([]byte(expand(text)), file)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return kc
}

// checkError compares the text of an error. An empty want means no error.
func checkError(t testing.TB, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// checkGolden compares text with a file of testdata, or rewrites the file.
func checkGolden(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
