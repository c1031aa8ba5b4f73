// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kube-go/sdk/core/abi"
)

func TestNamesWithLocalAddressesAreRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	local, err := url.Parse("http://localhost:" + port)
	if err != nil {
		t.Fatal(err)
	}
	direct := newEgress(func(*http.Request) (*url.URL, error) { return nil, nil })
	proxied := newEgress(func(*http.Request) (*url.URL, error) { return local, nil })
	defer direct.CloseIdleConnections()
	defer proxied.CloseIdleConnections()
	for _, c := range []struct {
		name      string
		transport *http.Transport
		url       string
		refused   bool
	}{
		{"a name", direct, local.String(), true},
		{"an address", direct, server.URL, false},
		{"a proxy", proxied, "http://hooks.example.com", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.transport.RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			refused, ok := errors.AsType[*abi.Error](err)
			if ok != c.refused || !c.refused && err != nil || ok && refused.Code != abi.Forbidden {
				t.Errorf("the error is %v, refused: %v", err, ok)
			}
		})
	}
}

func TestLocalAddressesAreKnown(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.8.8.8:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "0.0.0.0:80": true,
		"100.100.100.200:80": true, "[fd00:ec2::254]:80": true, "[fd00:ec2::23%eth0]:80": true, "[fd20:ce::254]:80": true,
		"168.63.129.16:80": true, "[::ffff:168.63.129.16]:80": true, "[fd00:ec2::25]:80": false, "100.100.100.201:80": false,
		"[::]:80": true, "169.254.169.254:80": true, "[fe80::1%eth0]:80": true, "[ff02::1]:80": true,
		"10.0.0.1:80": false, "192.0.2.1:443": false, "[2001:db8::1]:443": false,
	} {
		if got := refuseLocal("tcp", address, nil) != nil; got != want {
			t.Errorf("%s is refused: %v, want %v", address, got, want)
		}
	}
}

func TestModulesWithInvalidOriginsAreRefused(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	for _, origin := range []string{"", "a", "ftp://a", "https://", "https://a/", "https://a?b", "http://u@a"} {
		err := h.Set(t.Context(), Module{Name: "a", Origins: []string{"https://a:1", origin}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Module.Origins: %q is not an origin", origin)) {
			t.Errorf("Set with the origin %q = %v", origin, err)
		}
	}
	if err := CheckOrigin("http://10.0.0.1:8080"); err != nil {
		t.Error(err)
	}
}
