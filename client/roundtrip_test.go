// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
)

func TestRoundTripReturnsAnyResponse(t *testing.T) {
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer server.Close()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{
		Server: server.URL + "/prefix", InsecureSkipTLSVerify: true, BearerToken: "secret",
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://any/api/v1/a%2Fb?limit=1", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := "GET /prefix/api/v1/a%2Fb?limit=1 Bearer secret body"
	if resp.StatusCode != http.StatusServiceUnavailable || string(body) != want || requests != 1 {
		t.Errorf("status %d, body %q after %d requests, want 503, %q after one", resp.StatusCode, body, requests, want)
	}
	if r.URL.Host != "any" || r.Header.Get("Authorization") != "" {
		t.Errorf("RoundTrip changed the request to %v with the header %v", r.URL, r.Header)
	}
}
