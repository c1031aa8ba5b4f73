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

// answer is what a server says to one path. The zero value is that it has no such path.
type answer struct {
	code        int
	contentType string
	body        string
	etag        string // with one, the server knows by it who has the body already
	silent      bool   // it does not answer at all
	delay       time.Duration
}

// fakeServer gives answers that a test may replace, and remembers what it was asked. It stands where the connection is.
type fakeServer struct {
	mu      sync.Mutex // guards what follows
	answers map[string]answer
	asked   []*http.Request
	busy    int // requests under way
	most    int // of them at one time
}

func (s *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	a := s.answers[r.URL.Path]
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
		a = answer{code: 404, contentType: "text/plain", body: "404 page not found"}
	case a.etag != "" && r.Header.Get("If-None-Match") == a.etag:
		a = answer{code: 304, etag: a.etag}
	}
	h := http.Header{"Content-Type": {a.contentType}}
	if a.etag != "" {
		h.Set("ETag", a.etag)
	}
	return &http.Response{StatusCode: a.code, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// set replaces an answer.
func (s *fakeServer) set(path string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = a
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

// recorded returns what a server of Kubernetes 1.36 has said, with a custom resource, and an API service whose server is
// not there; the files that end in _old are what it says to whoever does not know aggregated discovery.
func recorded(t testing.TB, file string) answer {
	t.Helper()
	body, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return answer{code: 200, contentType: aggregatedType, body: string(body), etag: `"` + file + `"`}
}

// modern returns a server that has what was recorded.
func modern(t testing.TB) *fakeServer {
	t.Helper()
	return &fakeServer{answers: map[string]answer{"/api": recorded(t, "api.json"), "/apis": recorded(t, "apis.json")}}
}

// discover returns what was recorded.
func discover(t testing.TB) *discovery.Discovery {
	t.Helper()
	d, err := discovery.Discover(t.Context(), modern(t).client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// errEnough is the cause with which contextOf's contexts end.
var errEnough = errors.New("waited long enough")

// contextOf returns a context that ends after a time.
func contextOf(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), d, errEnough)
}

// plain returns an answer of plain JSON.
func plain(body string) answer { return answer{code: 200, contentType: "application/json", body: body} }

// oneGroup returns an aggregated document of version v1 of a group.
func oneGroup(group, resources string) answer {
	return plain(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"` + group + `"},` +
		`"versions":[{"version":"v1","resources":[` + resources + `]}]}]}`)
}

// noGroups is an aggregated document of nothing.
func noGroups() answer { return plain(`{"kind":"APIGroupDiscoveryList","items":[]}`) }

// legacy returns a server that has what was recorded, but no aggregated discovery. The group version that is stale in the
// recording is the one that does not answer.
func legacy(t testing.TB) *fakeServer {
	t.Helper()
	s := &fakeServer{answers: map[string]answer{}}
	for root, file := range map[string]string{"/api": "api", "/apis": "apis"} {
		old := recorded(t, file+"_old.json")
		s.answers[root] = plain(old.body)
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
				if s.answers[path] = plain(legacyList(t, v.Resources)); v.Freshness == "Stale" {
					s.answers[path] = answer{silent: true}
				}
			}
		}
	}
	return s
}

// legacyList writes resources of an aggregated document as an APIResourceList.
func legacyList(t testing.TB, resources []map[string]any) string {
	t.Helper()
	all := []map[string]any{}
	add := func(name string, r map[string]any, namespaced bool) {
		kind, _ := r["responseKind"].(map[string]any)
		all = append(all, map[string]any{
			"name": name, "kind": kind["kind"], "group": kind["group"], "version": kind["version"], "verbs": r["verbs"],
			"singularName": r["singularResource"], "namespaced": namespaced, "shortNames": r["shortNames"], "categories": r["categories"],
		})
	}
	for _, r := range resources {
		namespaced := r["scope"] == "Namespaced"
		parts, _ := r["subresources"].([]any)
		for _, part := range parts { // before the whole, to see that the order does not matter
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
