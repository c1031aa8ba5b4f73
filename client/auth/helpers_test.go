// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// plugin is a plugin with the files that control it.
type plugin struct {
	dir string
	cfg *config.Config
}

func newPlugin(t testing.TB) *plugin {
	t.Helper()
	dir := t.TempDir()
	return &plugin{dir, &config.Config{
		Server: "https://kube.example.com",
		Exec: &config.ExecConfig{
			Command: os.Args[0], APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever,
			Env: []config.EnvVar{
				{Name: pluginDir, Value: config.Secret(dir)},
				{Name: "GORACE", Value: "atexit_sleep_ms=0"}, // without it each run takes a second longer
			},
		},
	}}
}

// set writes one of the files that control the plugin.
func (p *plugin) set(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// release removes the file wait, for which the plugin waits.
func (p *plugin) release(t testing.TB) {
	t.Helper()
	if err := os.Remove(filepath.Join(p.dir, "wait")); err != nil {
		t.Error(err)
	}
}

// ready reports whether the plugin has done everything but wait, sleep and exit.
func (p *plugin) ready() bool {
	_, err := os.Stat(filepath.Join(p.dir, "ready"))
	return err == nil
}

// print makes the plugin print a credential with the given status.
func (p *plugin) print(t testing.TB, status map[string]string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"kind": "ExecCredential", "apiVersion": p.cfg.Exec.APIVersion,
		"status": status,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.set(t, "stdout", string(data))
}

func (p *plugin) printToken(t testing.TB, token string) {
	t.Helper()
	p.print(t, map[string]string{"token": token})
}

// calls returns the calls of the plugin so far.
func (p *plugin) calls(t testing.TB) []call {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "calls"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for line := range strings.Lines(string(data)) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}

// pair is a certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t testing.TB, name string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

// bearer is a transport to a server that accepts one token, or any token if it is empty. It records the tokens.
type bearer struct {
	token string
	seen  []string
}

// RoundTrip responds with 200 or 401.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	b.seen = append(b.seen, got)
	code := http.StatusOK
	if b.token != "" && got != b.token {
		code = http.StatusUnauthorized
	}
	return &http.Response{StatusCode: code, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// send sends a request through a middleware and returns the status.
func send(t testing.TB, mw middleware.Func, to http.RoundTripper, header http.Header) (int, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://kube.example.com/version", nil)
	maps.Copy(r.Header, header)
	resp, err := mw(to).RoundTrip(r)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
