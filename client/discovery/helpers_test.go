// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
)

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// response is the response to requests for one path. The zero value is the response for a missing path.
type response struct {
	code        int
	contentType string
	body        string
	etag        string // if set, conditional requests are supported, and requests with another hash are redirected
	silent      bool   // never respond
	delay       time.Duration
}

// fakeServer is a transport with responses that a test may replace. It records the requests.
type fakeServer struct {
	mu        sync.Mutex // guards the fields below
	responses map[string]response
	asked     []*http.Request
	busy      int // requests in progress
	most      int // the maximum of busy
}

func (s *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	a := s.responses[r.URL.Path]
	s.busy++
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}()
	if a.silent {
		a.delay = time.Hour
	}
	if a.delay > 0 {
		timer := time.NewTimer(a.delay)
		defer timer.Stop()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-timer.C:
		}
	}
	switch {
	case a.code == 0:
		a = response{code: 404, contentType: "text/plain", body: "404 page not found"}
	case a.etag != "" && r.Header.Get("If-None-Match") == a.etag:
		a = response{code: 304, etag: a.etag}
	case a.etag != "" && r.URL.Query().Has("hash") && `"`+r.URL.Query().Get("hash")+`"` != a.etag:
		a = response{code: 301, contentType: "text/html", body: "Moved Permanently", etag: a.etag}
	}
	h := http.Header{"Content-Type": {a.contentType}}
	if a.etag != "" {
		h.Set("ETag", a.etag)
	}
	return &http.Response{StatusCode: a.code, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// set replaces a response.
func (s *fakeServer) set(path string, a response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.responses[path] = a
}

// takeAsked returns the paths of the requests since the last call.
func (s *fakeServer) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for _, r := range s.asked {
		paths = append(paths, r.URL.RequestURI())
	}
	s.asked = nil
	return paths
}

// client returns a client of the server.
func (s *fakeServer) client(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "mine"}, Transport: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recorded returns a response of a Kubernetes 1.36 server with a custom resource, and with an API service whose server
// is unavailable. The files that end in _old are the responses to clients without support for aggregated discovery.
func recorded(t testing.TB, file string) response {
	t.Helper()
	body, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return response{code: 200, contentType: aggregatedType, body: string(body), etag: `"` + file + `"`}
}

// modern returns a server with the recorded responses.
func modern(t testing.TB) *fakeServer {
	t.Helper()
	return &fakeServer{responses: map[string]response{"/api": recorded(t, "api.json"), "/apis": recorded(t, "apis.json")}}
}

// healthy returns a server with the recorded responses, except that the server of the API service is available.
func healthy(t testing.TB) *fakeServer {
	t.Helper()
	s := modern(t)
	apis := s.responses["/apis"]
	apis.body = strings.ReplaceAll(apis.body, `"Stale"`, `"Current"`)
	s.responses["/apis"] = apis
	return s
}

// discover returns the discovery of the recorded responses.
func discover(t testing.TB) *discovery.Discovery {
	t.Helper()
	d, err := discovery.Discover(t.Context(), modern(t).client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// errEnough is the cause of the contexts of contextOf.
var errEnough = errors.New("waited long enough")

// contextOf returns a context with a timeout.
func contextOf(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), d, errEnough)
}

// plain returns a plain JSON response.
func plain(body string) response {
	return response{code: 200, contentType: "application/json", body: body}
}

// oneGroup returns an aggregated document with version v1 of a group.
func oneGroup(group, resources string) response {
	return plain(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"` + group + `"},` +
		`"versions":[{"version":"v1","resources":[` + resources + `]}]}]}`)
}

// noGroups returns an empty aggregated document.
func noGroups() response { return plain(`{"kind":"APIGroupDiscoveryList","items":[]}`) }

// legacy returns a server with the recorded resources, but without aggregated discovery. The group version that is
// stale in the recording does not respond.
func legacy(t testing.TB) *fakeServer {
	t.Helper()
	s := &fakeServer{responses: map[string]response{}}
	for root, file := range map[string]string{"/api": "api", "/apis": "apis"} {
		old := recorded(t, file+"_old.json")
		s.responses[root] = plain(old.body)
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version, Freshness string
					Resources          []map[string]any
				}
			}
		}
		if err := json.Unmarshal([]byte(recorded(t, file+".json").body), &list); err != nil {
			t.Fatal(err)
		}
		for _, g := range list.Items {
			for _, v := range g.Versions {
				path := strings.ReplaceAll(root+"/"+g.Metadata.Name+"/"+v.Version, "//", "/")
				if s.responses[path] = plain(legacyList(t, v.Resources)); v.Freshness == "Stale" {
					s.responses[path] = response{silent: true}
				}
			}
		}
	}
	return s
}

// legacyList encodes the resources of an aggregated document as an APIResourceList.
func legacyList(t testing.TB, resources []map[string]any) string {
	t.Helper()
	all := []map[string]any{}
	add := func(name string, r map[string]any, namespaced bool) {
		kind, _ := r["responseKind"].(map[string]any)
		all = append(all, map[string]any{
			"name": name, "kind": kind["kind"], "group": kind["group"], "version": kind["version"], "verbs": r["verbs"],
			"singularName": r["singularResource"], "namespaced": namespaced,
			"shortNames": r["shortNames"], "categories": r["categories"],
		})
	}
	for _, r := range resources {
		namespaced := r["scope"] == "Namespaced"
		parts, _ := r["subresources"].([]any)
		for _, part := range parts { // before the resource, because any order is valid
			part, _ := part.(map[string]any)
			name, _ := part["subresource"].(string)
			add(r["resource"].(string)+"/"+name, part, namespaced)
		}
		add(r["resource"].(string), r, namespaced)
	}
	body, err := json.Marshal(map[string]any{"kind": "APIResourceList", "resources": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
