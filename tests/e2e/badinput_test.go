// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestCommonMistakesAreReportedInOneLine checks that programs report the mistakes of new users in one line, which
// contains the cause and the remedy.
func TestCommonMistakesAreReportedInOneLine(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	expired, key := expiredCertificate(t, 49*time.Hour)
	secret(t, "client key", string(key))
	bearer := map[string]any{"token": secret(t, "token", "bearer-s3cret")}
	pod := []string{"-n", "default"}
	for _, tc := range []struct {
		name string
		call call
		want []string // substrings of the line
	}{
		{
			name: "the file in KUBECONFIG does not exist",
			call: call{program: "list-pods", env: []string{"KUBECONFIG=" + nowhere}},
			want: []string{"no kubeconfig found", nowhere, "set KUBECONFIG to a kubeconfig file"},
		},
		{
			name: "the home directory has no kubeconfig",
			call: call{program: "list-pods", env: []string{"KUBECONFIG=", "HOME=" + nowhere, "KUBERNETES_SERVICE_HOST="}},
			want: []string{
				"no kubeconfig found", filepath.Join(nowhere, ".kube", "config"), "set KUBECONFIG to a kubeconfig file",
			},
		},
		{
			name: "an unknown context",
			call: call{program: "list-pods", env: kubeconfig(t, "https://127.0.0.1:1", bearer, "production")},
			want: []string{`current-context: context "production" does not exist`, `contexts: "here"`},
		},
		{
			name: "a misspelled context",
			call: call{program: "list-pods", env: kubeconfig(t, "https://127.0.0.1:1", bearer, "hero")},
			want: []string{`did you mean "here"?`},
		},
		{
			name: "an expired certificate",
			call: call{program: "list-pods", env: kubeconfig(t, "https://127.0.0.1:1", map[string]any{
				"client-certificate-data": expired, "client-key-data": key,
			}, "here")},
			want: []string{
				`user "me"`, "client-certificate-data", "expired 2 days ago, at 20", "renew it, or get a new kubeconfig",
			},
		},
		{
			name: "a server that is down",
			call: call{program: "list-pods", args: pod, env: kubeconfig(t, "https://127.0.0.1:1", bearer, "here")},
			want: []string{
				"list pods in default: reach https://127.0.0.1:1", `context "here" of `,
				"connection refused", "nothing listens on this address: start the server, or correct the address",
			},
		},
		{
			name: "a server certificate from an unknown authority",
			call: call{program: "list-pods", args: pod, env: kubeconfig(t, loadConfig(t, "").Server, bearer, "here")},
			want: []string{"not signed by the configured certificate-authority", "use the current certificate authority of the cluster"},
		},
		{
			name: "a resource that the server does not have",
			call: call{program: "dynamic-get", args: []string{"wibbles"}},
			want: []string{`the server has no resource "wibbles"`, "CustomResourceDefinition", "must be installed first"},
		},
		{
			name: "a misspelled resource",
			call: call{program: "dynamic-get", args: []string{"deploymets"}},
			want: []string{`the server has no resource "deploymets"`, "did you mean deployments.apps?"},
		},
		{
			name: "a misspelled marker",
			call: call{program: "kube-derive", args: []string{"-q"}, dir: filepath.Join("testdata", "misspelt")},
			want: []string{
				"document.go:12:", "+kubebuilder:validation:MaxLenght", "did you mean +kubebuilder:validation:MaxLength",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.call.run(t)
			if got.code != 1 || got.stdout != "" {
				t.Errorf("exit code %d and stdout %q, want 1 and nothing", got.code, got.stdout)
			}
			line, rest, ok := strings.Cut(got.stderr, "\n")
			if strings.HasPrefix(rest, "kube-derive: 1 mistake") { // the summary is a second line
				rest = ""
			}
			if !ok || rest != "" {
				t.Errorf("stderr = %q, want one line", got.stderr)
			}
			for _, part := range tc.want {
				if !strings.Contains(line, part) {
					t.Errorf("stderr = %q, want it to contain %q", line, part)
				}
			}
		})
	}
}

// kubeconfig writes a kubeconfig with a context "here" and returns the environment variable with its path.
func kubeconfig(t *testing.T, server string, user map[string]any, current string) (env []string) {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": current,
		"clusters": []any{map[string]any{"name": "there", "cluster": map[string]any{"server": server}}},
		"users":    []any{map[string]any{"name": "me", "user": user}},
		"contexts": []any{map[string]any{"name": "here", "context": map[string]any{"cluster": "there", "user": "me"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"KUBECONFIG=" + path}
}

// expiredCertificate returns a client certificate that expired the given time ago, and its key, both in PEM.
func expiredCertificate(t *testing.T, since time.Duration) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(-since)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "me"},
		NotBefore:    end.Add(-time.Hour),
		NotAfter:     end,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
