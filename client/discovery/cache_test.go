// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

// conditional returns the number of conditional requests.
func (s *fakeServer) conditional() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.asked {
		if r.Header.Get("If-None-Match") != "" {
			n++
		}
	}
	return n
}

// eachCache runs a test with a cache in memory, and with one on disk that is opened again for each use.
func eachCache(t *testing.T, maxAge time.Duration, test func(t *testing.T, open func() *discovery.Cache)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) {
		c := discovery.NewCache(&discovery.CacheOptions{MaxAge: maxAge})
		test(t, func() *discovery.Cache { return c })
	})
	t.Run("on disk", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		test(t, func() *discovery.Cache {
			return discovery.NewCache(&discovery.CacheOptions{
				Dir: dir, MaxAge: maxAge, OnError: func(err error) { t.Errorf("OnError: %v", err) },
			})
		})
	})
}

// TestWarmStart checks that unchanged documents are not sent again.
func TestWarmStart(t *testing.T) {
	eachCache(t, 0, func(t *testing.T, open func() *discovery.Cache) {
		server := modern(t)
		want := discover(t).Resources()
		for i, conditional := range []int{0, 2, 2} {
			d, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: open()})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, d.Resources()); diff != "" {
				t.Errorf("start %d: resources (-want +got):\n%s", i, diff)
			}
			if got := server.conditional(); got != conditional {
				t.Errorf("start %d: %d conditional requests, want %d", i, got, conditional)
			}
			server.takeAsked()
		}
		installGadgets(server)
		d, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: open()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.ForKind(gadgetKind); err != nil {
			t.Errorf("the change was not seen: %v", err)
		}
	})
}

// TestMaxAge checks that young documents are used without a request, except by a mapper that does not find a resource.
func TestMaxAge(t *testing.T) {
	eachCache(t, time.Hour, func(t *testing.T, open func() *discovery.Cache) {
		server := healthy(t)
		for _, requests := range []int{2, 0, 0} {
			if _, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: open()}); err != nil {
				t.Fatal(err)
			}
			if asked := server.takeAsked(); len(asked) != requests {
				t.Errorf("requests = %v, want %d", asked, requests)
			}
		}
		installGadgets(server)
		m := discovery.NewMapper(server.client(t), &discovery.MapperOptions{
			Discover: &discovery.Options{Cache: open()}, MinInterval: 24 * time.Hour,
		})
		for _, tc := range []struct {
			name     string
			kind     schema.GroupVersionKind
			want     bool
			requests int
		}{
			{"a kind of the cached documents", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, true, 0},
			{"a kind that was installed later", gadgetKind, true, 2},
			{"an unknown kind", schema.GroupVersionKind{Version: "v1", Kind: "Unicorn"}, false, 0},
		} {
			ctx := t.Context()
			if !tc.want { // it would wait for MinInterval
				short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				ctx = short
			}
			if _, err := m.ForKind(ctx, tc.kind); (err == nil) != tc.want {
				t.Errorf("%s: error = %v, want it to be found: %t", tc.name, err, tc.want)
			}
			if asked := server.takeAsked(); len(asked) != tc.requests {
				t.Errorf("%s: requests = %v, want %d", tc.name, asked, tc.requests)
			}
		}
		if err := open().Invalidate(); err != nil {
			t.Fatal(err)
		}
		server.takeAsked()
		if _, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: open()}); err != nil {
			t.Fatal(err)
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests after Invalidate = %v, want 2", asked)
		}
	})
}

// TestADocumentWithAStaleGroupIsRequestedAgain checks that resources of a group whose server was unavailable once are
// found as soon as it is available, whatever the maximum age of documents. Other documents need no request.
func TestADocumentWithAStaleGroupIsRequestedAgain(t *testing.T) {
	const groups = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"metrics.k8s.io"},"versions":[%s]}]}`
	apis := func(version string) response { return plain(fmt.Sprintf(groups, version)) }
	eachCache(t, time.Hour, func(t *testing.T, open func() *discovery.Cache) {
		stale := apis(`{"version":"v1beta1","freshness":"Stale"}`)
		stale.etag = `"stale"`
		server := &fakeServer{responses: map[string]response{"/api": noGroups(), "/apis": stale}}
		look := func() error {
			d, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: open()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Resolve("nodes.metrics.k8s.io")
			return err
		}
		for range 2 {
			if err := look(); !isUnknown(err) {
				t.Errorf("Resolve() of a resource of a stale group = %v", err)
			}
		}
		if n := server.conditional(); n != 1 {
			t.Errorf("%d conditional requests, want 1", n)
		}
		server.set("/apis", apis(`{"version":"v1beta1","freshness":"Current","resources":[`+
			`{"resource":"nodes","responseKind":{"kind":"NodeMetrics"},"scope":"Cluster","verbs":["get"]}]}`))
		server.takeAsked()
		for _, requests := range []int{1, 0} {
			if err := look(); err != nil {
				t.Errorf("Resolve() after the server has recovered = %v", err)
			}
			if asked := server.takeAsked(); len(asked) != requests {
				t.Errorf("requests = %v, want %d", asked, requests)
			}
		}
	})
}

// TestFirstLookupIgnoresCachedDocuments checks that the first lookup of a mapper finds a kind that is missing in the
// documents of an earlier run, and that a server that is not available is asked once per interval.
func TestFirstLookupIgnoresCachedDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cache := healthy(t), discovery.NewCache(&discovery.CacheOptions{MaxAge: time.Hour})
		o := &discovery.Options{Cache: cache}
		if _, err := discovery.Discover(t.Context(), server.client(t), o); err != nil {
			t.Fatal(err)
		}
		installGadgets(server)
		apis := server.responses["/apis"]
		server.set("/apis", response{code: 403, contentType: "text/plain"})
		server.takeAsked()
		m := discovery.NewMapper(server.client(t), &discovery.MapperOptions{Discover: o})
		for range 3 {
			if _, err := m.ForKind(t.Context(), gadgetKind); !errors.Is(err, core.ErrForbidden) {
				t.Errorf("error = %v, want the server's", err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests = %v, want 2", asked)
		}
		server.set("/apis", apis)
		time.Sleep(2 * time.Second)
		if _, err := m.ForKind(t.Context(), gadgetKind); err != nil {
			t.Errorf("the mapper does not see the change: %v", err)
		}
		m = discovery.NewMapper(server.client(t), &discovery.MapperOptions{Discover: o})
		if _, err := m.ForKind(t.Context(), gadgetKind); err != nil {
			t.Errorf("a new mapper does not see the change: %v", err)
		}
	})
}

// TestCacheServers checks that the documents of different servers are kept apart.
func TestCacheServers(t *testing.T) {
	cache := discovery.NewCache(&discovery.CacheOptions{MaxAge: time.Hour})
	for _, url := range []string{"https://a.test", "https://b.test", "https://a.test/prefix"} {
		server := &fakeServer{responses: map[string]response{}}
		for path, response := range healthy(t).responses {
			server.responses[path], server.responses["/prefix"+path] = response, response
		}
		c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: url}, Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := discovery.Discover(t.Context(), c, &discovery.Options{Cache: cache}); err != nil {
				t.Fatal(err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests to %s = %v, want 2", url, asked)
		}
	}
}

// diskCache fills a cache on disk and returns its files.
func diskCache(t *testing.T, server *fakeServer, o *discovery.CacheOptions) []string {
	t.Helper()
	if _, err := discovery.Discover(t.Context(), server.client(t),
		&discovery.Options{Cache: discovery.NewCache(o)}); err != nil {
		t.Fatal(err)
	}
	server.takeAsked()
	files, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the cache's files are %v, %v; want 2", files, err)
	}
	return files
}

// TestDamagedCache checks that a damaged file is ignored, however young it is.
func TestDamagedCache(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"an empty file", func([]byte) []byte { return nil }},
		{"a truncated file", func(b []byte) []byte { return b[:len(b)-1] }},
		{"a file truncated in the header", func(b []byte) []byte { return b[:10] }},
		{"a changed letter", func(b []byte) []byte { return bytes.Replace(b, []byte("pods"), []byte("pads"), 1) }},
		{"a changed tag", func(b []byte) []byte { return bytes.Replace(b, []byte(`tag":"`), []byte(`tag":"x`), 1) }},
		{
			"a changed server",
			func(b []byte) []byte { return bytes.Replace(b, []byte("cluster.test"), []byte("another.test"), 1) },
		},
		{"another document", func([]byte) []byte { return []byte(`{"kind":"List"}`) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, heard := modern(t), []error{}
			var mu sync.Mutex // guards heard
			o := &discovery.CacheOptions{Dir: t.TempDir(), MaxAge: time.Hour, OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, err)
			}}
			for _, file := range diskCache(t, server, o) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, tc.damage(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: discovery.NewCache(o)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Resolve("pods"); err != nil {
				t.Error(err)
			}
			if got := server.conditional(); got > 1 { // only one of the files contains the letters
				t.Errorf("%d conditional requests for damaged documents", got)
			}
			if len(heard) == 0 {
				t.Error("OnError was not called")
			}
			if asked := server.takeAsked(); len(asked) == 0 {
				t.Error("a damaged document was used")
			}
		})
	}
}

// TestCacheFiles checks that only the user has access to the files, that other files in the directory are kept, and
// that a file with a time in the future is not young.
func TestCacheFiles(t *testing.T) {
	server := healthy(t)
	o := &discovery.CacheOptions{Dir: filepath.Join(t.TempDir(), "new"), MaxAge: time.Hour}
	files := diskCache(t, server, o)
	for _, path := range append(files, o.Dir) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v; want no access for others", path, info.Mode(), err)
		}
	}
	for i, at := range []time.Time{time.Now().Add(-2 * time.Hour), time.Now().Add(2 * time.Hour)} {
		for _, file := range files {
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
		for _, requests := range []int{2, 0} { // the first confirms the documents
			if _, err := discovery.Discover(t.Context(), server.client(t),
				&discovery.Options{Cache: discovery.NewCache(o)}); err != nil {
				t.Fatal(err)
			}
			if asked := server.takeAsked(); len(asked) != requests {
				t.Errorf("time %d: requests = %v, want %d", i, asked, requests)
			}
		}
	}
	other := filepath.Join(o.Dir, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := discovery.NewCache(o).Invalidate(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	if err != nil || !slices.Equal(left, []string{other}) {
		t.Errorf("files after Invalidate = %v, %v; want the notes", left, err)
	}
	if err := discovery.NewCache(&discovery.CacheOptions{Dir: filepath.Join(o.Dir, "absent")}).Invalidate(); err != nil {
		t.Errorf("Invalidate of a missing directory: %v", err)
	}
}

// TestUnwritableCacheOnlyReportsErrors checks that a cache that cannot be written reports an error without making
// Discover fail.
func TestUnwritableCacheOnlyReportsErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards heard
	var heard []error
	o := &discovery.CacheOptions{Dir: filepath.Join(file, "dir"), OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, err)
	}}
	if _, err := discovery.Discover(t.Context(), modern(t).client(t),
		&discovery.Options{Cache: discovery.NewCache(o)}); err != nil {
		t.Error(err)
	}
	if len(heard) == 0 {
		t.Error("OnError was not called")
	}
	for _, err := range heard {
		if _, ok := errors.AsType[*fs.PathError](err); !ok {
			t.Errorf("OnError(%v), want an error that names the path", err)
		}
	}
}

// TestCacheShared checks that several programs can use one directory at the same time.
func TestCacheShared(t *testing.T) {
	dir := t.TempDir()
	server := modern(t)
	var programs sync.WaitGroup
	for range 8 {
		programs.Go(func() {
			for range 5 {
				cache := discovery.NewCache(&discovery.CacheOptions{Dir: dir, OnError: func(err error) { t.Error(err) }})
				d, err := discovery.Discover(t.Context(), server.client(t), &discovery.Options{Cache: cache})
				if err != nil || len(d.Resources()) != 69 {
					t.Errorf("Discover = %v, %v", d, err)
				}
			}
		})
	}
	programs.Wait()
}

// FuzzCacheFile checks that Discover returns the server's resources whatever the content of the cache's files.
func FuzzCacheFile(f *testing.F) {
	dir := f.TempDir()
	server := modern(f)
	cache := func() *discovery.Options {
		return &discovery.Options{Cache: discovery.NewCache(&discovery.CacheOptions{Dir: dir, MaxAge: time.Hour})}
	}
	if _, err := discovery.Discover(f.Context(), server.client(f), cache()); err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		f.Fatalf("the cache's files are %v, %v; want 2", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		f.Add(text)
		f.Add(append(line, "\n{}"...))
	}
	f.Add([]byte(`{"server":null,"sha256":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range files {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := discovery.Discover(t.Context(), server.client(t), cache())
		if err != nil || len(d.Resources()) != 69 {
			t.Errorf("Discover = %v, %v", d, err)
		}
	})
}
