// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"strings"
	"testing"
	"unicode"

	"github.com/kube-go/sdk/client/config"
)

// FuzzDecodeCredential checks that any output of a plugin is decoded to a credential or an error.
func FuzzDecodeCredential(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "a: b", "- 1", "\x00", "&a [*a]",
		`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"abc"}}`,
		`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",` +
			`"status":{"expirationTimestamp":"0000-01-01T00:00:00Z","token":"a"}}`,
		"kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus: {clientCertificateData: x, " +
			"clientKeyData: y}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCredential(data, config.ExecV1)
		if (c == nil) != (err != nil) {
			t.Fatalf("decodeCredential(%q) = %v, %v", data, c, err)
		}
		if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Fatalf("the error %q contains control characters", err)
		}
		if c != nil && c.token == "" && c.cert == nil {
			t.Fatalf("decodeCredential(%q) is empty", data)
		}
	})
}

// FuzzIDToken checks that any string in a kubeconfig is either an ID token or rejected.
func FuzzIDToken(f *testing.F) {
	for _, seed := range []string{
		"", "a.b.c", "a.e30.c", "a.eyJleHAiOjFlOTl9.c", "a.eyJleHAiOi0xfQ.c",
		"a.eyJleHAiOjk5OTk5OTk5OTl9.c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if c := idToken(config.Secret(token)); c != nil && (c.token != token || c.expiry.IsZero()) {
			t.Fatalf("idToken(%q) = %+v", token, c)
		}
	})
}
