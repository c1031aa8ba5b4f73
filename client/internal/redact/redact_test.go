// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/internal/redact"
)

// TestTextContainsNoCredentialInAnyForm checks that credentials are found in the encodings that servers use.
func TestTextContainsNoCredentialInAnyForm(t *testing.T) {
	pair := []byte("ann:p@ss/wörd<\"1+2>")
	basic := base64.StdEncoding.EncodeToString(pair)
	for _, tc := range []struct {
		name   string
		header http.Header
		in     string
		want   string
	}{
		{"no credentials", nil, "user ann", "user ann"},
		{
			"a header", http.Header{"Authorization": {"Bearer abc.d+e/f="}}, "got Bearer abc.d+e/f= from", "got [redacted] from",
		},
		{
			"a token",
			http.Header{"Authorization": {"Bearer abc.d+e/f="}},
			`token "abc.d+e/f=" is bad`,
			`token "[redacted]" is bad`,
		},
		{
			"a token in a URL",
			http.Header{"Authorization": {"Bearer abc.d+e/f="}},
			"go to /?t=abc.d%2Be%2Ff%3D",
			"go to /?t=[redacted]",
		},
		{
			"a token in JSON with escaped slashes",
			http.Header{"Authorization": {"Bearer abc.d+e/f="}},
			`{"t":"abc.d+e\/f="}`,
			`{"t":"[redacted]"}`,
		},
		{"a token in HTML", http.Header{"Authorization": {"Bearer abc'def"}}, "abc&#39;def", "[redacted]"},
		{
			"the signature of a JWT",
			http.Header{"Authorization": {"Bearer aaaa.bbbbbb.cccccc"}},
			"signature cccccc of aaaa",
			"signature [redacted] of aaaa",
		},
		{
			"a user name and password in base64",
			http.Header{"Authorization": {"Basic " + basic}},
			"credentials " + basic,
			"credentials [redacted]",
		},
		{
			"a user name and password in URL-safe base64",
			http.Header{"Authorization": {"Basic " + basic}},
			base64.RawURLEncoding.EncodeToString(pair), "[redacted]",
		},
		{"a user name and password", http.Header{"Authorization": {"Basic " + basic}}, string(pair), "[redacted]"},
		{"a password in JSON", http.Header{"Authorization": {"Basic " + basic}}, `p@ss/wörd\u003c\"1+2\u003e`, "[redacted]"},
		{"a cookie", http.Header{"Cookie": {"a=secret-1; b=secret-2"}}, "secret-2 and secret-1", "[redacted] and [redacted]"},
		{"the password of a proxy", http.Header{"Proxy-Authorization": {"Basic " + basic}}, basic, "[redacted]"},
		{"a short secret", http.Header{"Cookie": {"a=b"}}, "abc", "abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s redact.Secrets
			s.AddHeader(tc.header)
			if got := s.Text(tc.in); got != tc.want {
				t.Errorf("Text(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

// TestStartContainsNoPartOfACredential checks texts that end within a credential.
func TestStartContainsNoPartOfACredential(t *testing.T) {
	var s redact.Secrets
	s.AddHeader(http.Header{"Authorization": {"Bearer abc.d+e/f="}})
	for in, want := range map[string]string{
		"":                        "",
		"user ann":                "user ann",
		"got Bearer abc.d+e/f=":   "got [redacted]",
		"got Bearer abc.d+e/f":    "got [redacted]",
		"token abc.d+e":           "token [redacted]",
		"token abc.":              "token [redacted]",
		"token abc":               "token abc", // too short, as in Text
		"go to /?t=abc.d%2Be%2":   "go to /?t=[redacted]",
		"abc.d+e/f= and abc.d+e/": "[redacted] and [redacted]",
	} {
		if got := s.Start(in); got != want {
			t.Errorf("Start(%q) = %q, want %q", in, got, want)
		}
	}
	if got := new(redact.Secrets).Start("user ann"); got != "user ann" {
		t.Errorf("Start without secrets = %q", got)
	}
}

func TestErrorWrapsTheOriginalError(t *testing.T) {
	var s redact.Secrets
	s.AddPassword("ann", "hunter2")
	err := s.Error(errors.Join(errors.New("password hunter2"), io.EOF))
	if err.Error() != "password [redacted]\nEOF" || !errors.Is(err, io.EOF) {
		t.Errorf("Error = %v", err)
	}
	if got := s.Error(io.EOF); got != io.EOF {
		t.Errorf("Error(EOF) = %v, want EOF itself", got)
	}
	if got := s.Error(nil); got != nil {
		t.Errorf("Error(nil) = %v", got)
	}
}

func TestStringsSearchesAllFieldsOfAStatus(t *testing.T) {
	var s redact.Secrets
	s.Add("s3cret")
	status := func(text string) *metav1.Status {
		return &metav1.Status{
			Message: text, Reason: metav1.StatusReason(text), Details: &metav1.StatusDetails{
				Name: text, Causes: []metav1.StatusCause{{Message: text, Field: text}},
			},
		}
	}
	got := status("x s3cret y")
	s.Strings(got)
	if diff := cmp.Diff(status("x [redacted] y"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Strings((*metav1.Status)(nil))
	if strings.Contains(s.Text("s3cret"), "s3cret") {
		t.Error("the secret is still there")
	}
}
