// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package leaks_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/tests/e2e/internal/leaks"
)

const (
	password = "p4ss/w+rd=1"
	jwt      = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxMjM0In0.MEUCIQDb1mJ4yKQ0kq7xV3c2Zt8e9uYfR6wA5sH0pLnBvXzTgwIgQ"
)

// privateKey returns a key in PEM.
func privateKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	key := privateKey(t)
	lines := strings.Split(strings.TrimSpace(key), "\n")
	for name, text := range map[string]string{
		"plain":                         "Authorization: Bearer " + password,
		"quoted":                        fmt.Sprintf("%q", "a\n"+password),
		"escaped in a query":            "https://a/b?c=" + url.QueryEscape(password),
		"escaped in a path":             "https://a/" + url.PathEscape(password),
		"in a URL of a proxy":           (&url.URL{Scheme: "http", User: url.UserPassword("ann", password), Host: "a"}).String(),
		"base64":                        base64.StdEncoding.EncodeToString([]byte(password)),
		"base64 of user and password":   "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password)),
		"base64 of users and passwords": base64.URLEncoding.EncodeToString([]byte("anna:" + password + "\n")),
		"as bytes":                      fmt.Sprintf("%d", []byte("x"+password+"y")),
		"as Go bytes":                   fmt.Sprintf("%#v", []byte(password)),
		"hexadecimal":                   fmt.Sprintf("%x", password),
		"upper-case hexadecimal":        fmt.Sprintf("%X", password),
		"the signature of a token":      "not " + jwt[strings.LastIndex(jwt, "."):],
		"the beginning of a token":      jwt[:len(jwt)-15],
		"a key":                         key,
		"a key in JSON":                 fmt.Sprintf("%q", key),
		"the end of a key":              lines[len(lines)-2],
		"a key as kubeconfigs have it":  base64.StdEncoding.EncodeToString([]byte(key)),
	} {
		t.Run(name, func(t *testing.T) {
			var r leaks.Recorder
			if _, err := io.WriteString(r.Writer("log"), "before\n"+text+" after\n"); err != nil {
				t.Fatal(err)
			}
			r.Add("the password", password)
			r.Add("the token", jwt)
			r.Add("the key", key)
			found := r.Find()
			if len(found) == 0 {
				t.Fatal("the secret is not found")
			}
			for _, leak := range found {
				if s := leak.String(); !strings.HasPrefix(s, "log has the secret the ") || strings.Contains(s, password) || strings.Contains(s, lines[1]) {
					t.Errorf("the report is %q; it must name the source and the secret without showing it", s)
				}
			}
		})
	}
}

func TestOrdinaryTextIsNoLeak(t *testing.T) {
	var r leaks.Recorder
	key := privateKey(t)
	r.Add("the password", password)
	r.Add("the token", jwt)
	r.Add("the key", key)
	w := r.Writer("log")
	for _, text := range []string{
		password[:6], password[4:], strings.ToUpper(password), "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
		jwt[:strings.LastIndex(jwt, ".")], strings.Replace(key, "\n", "?", 1)[:40],
	} {
		fmt.Fprintln(w, text)
	}
	if found := r.Find(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestAShortSecretIsAMistakeOfTheTest(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a secret that can't be told from ordinary text is added")
		}
	}()
	new(leaks.Recorder).Add("short", "1234567")
}

func TestCapturedOutputIsCopiedAndRecorded(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	original, out := file, file
	var r leaks.Recorder
	restore, err := r.Capture(&out, "stdout")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("line\n", 100_000) + password
	if _, err := io.WriteString(out, text); err != nil {
		t.Fatal(err)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if out != original || r.Size("stdout") != len(text) {
		t.Errorf("%d bytes are recorded, want %d; restored: %t", r.Size("stdout"), len(text), out == original)
	}
	if copied, err := os.ReadFile(file.Name()); err != nil || string(copied) != text {
		t.Errorf("%d bytes are copied, %v, want %d", len(copied), err, len(text))
	}
	r.Add("the password", password)
	if found := r.Find(); len(found) != 1 || found[0].Source != "stdout" {
		t.Errorf("found %v, want the password in stdout", found)
	}
}
