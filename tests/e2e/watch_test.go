// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestWatchOnceReportsEveryChange checks that a single watch request reports the events of the server to its end.
func TestWatchOnceReportsEveryChange(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	before, err := maps.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), configMap("a", "1"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(t.Context(), "a", setValue("2"), nil); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	kept, err := maps.Create(t.Context(), configMap("kept", "3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := func(ev kube.WatchEvent[corev1.ConfigMap]) bool { return ev.Object.Data["v"] != "" }

	t.Run("every change after a resource version is reported with its object", func(t *testing.T) {
		var got []string
		for ev, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ResourceVersion: before.ResourceVersion}) {
			if err != nil {
				t.Fatal(err)
			}
			if !ours(ev) {
				continue
			}
			if ev.Object.Kind != "ConfigMap" || ev.Object.ResourceVersion == "" {
				t.Errorf("an object lacks its kind or its resource version: %v", ev.Object)
			}
			got = append(got, fmt.Sprintf("%s %s=%s", ev.Type, ev.Object.Name, ev.Object.Data["v"]))
			if ev.Object.Name == kept.Name {
				break
			}
		}
		want := []string{"ADDED a=1", "MODIFIED a=2", "DELETED a=2", "ADDED kept=3"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
	t.Run("existing objects come first, followed by a bookmark", func(t *testing.T) {
		var got []string
		for ev, err := range maps.WatchOnce(limit(t), &request.WatchOptions{SendInitialEvents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == kube.Bookmark {
				if !core.InitialEventsEnd(ev.Object) || ev.Object.ResourceVersion == "" {
					t.Errorf("bookmark = %v, want the end of the initial events", ev.Object.ObjectMeta)
				}
				break
			}
			if ours(ev) {
				got = append(got, string(ev.Type)+" "+ev.Object.Name)
			}
		}
		if diff := cmp.Diff([]string{"ADDED kept"}, got); diff != "" {
			t.Errorf("initial events (-want +got):\n%s", diff)
		}
	})
}

// TestWatchOnceEndsAtItsTimeout checks that the timeout ends a watch without an error, and that bookmarks report its
// progress unless they are disabled.
func TestWatchOnceEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	elsewhere := maps.In(newNamespace(t, c))
	before, err := maps.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	create(t, maps, "seen", "1")
	var watches sync.WaitGroup
	for _, noBookmarks := range []bool{false, true} {
		watches.Go(func() {
			o := &request.WatchOptions{
				ResourceVersion: before.ResourceVersion, Timeout: 10 * time.Second, NoBookmarks: noBookmarks,
			}
			var unseen string // a resource version that only a bookmark can report
			reported := false
			for ev, err := range maps.WatchOnce(limit(t), o) {
				switch {
				case err != nil:
					t.Error(err)
				case ev.Type == kube.Bookmark:
					reported = reported || unseen != "" && !older(t, ev.Object.ResourceVersion, unseen)
				case ev.Object.Name == "seen":
					cm, err := elsewhere.Create(limit(t), configMap(fmt.Sprintf("unseen-%t", noBookmarks), "1"), nil)
					if err != nil {
						t.Error(err)
						return
					}
					unseen = cm.ResourceVersion
				}
			}
			if reported == noBookmarks {
				t.Errorf("NoBookmarks = %t; a bookmark has reported version %q: %t", noBookmarks, unseen, reported)
			}
		})
	}
	watches.Wait()
}

// older reports whether a resource version is older than another.
func older(t *testing.T, version, than string) bool {
	t.Helper()
	c, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		t.Error(err)
	}
	return c < 0
}

// TestWatchRecoversFromFaults checks that a watch continues after faults of the server and of the connection, and
// reports every change exactly once, including those that happen during the fault.
func TestWatchRecoversFromFaults(t *testing.T) {
	b := builtinCluster(t)
	apiserver := b.Component(cluster.APIServer)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name string
		// fault interrupts the watch, and calls makeChanges while the watch can't receive events.
		fault func(t *testing.T, link *proxy, makeChanges func())
		// resumes means that the watch must resume at its last version, relists that it must list again. If both are false,
		// it depends on the history that the server still has.
		resumes, relists bool
	}{
		{
			name: "a cut connection", resumes: true,
			fault: func(_ *testing.T, link *proxy, makeChanges func()) {
				link.cut()
				makeChanges()
			},
		},
		{
			name: "a killed API server",
			fault: func(t *testing.T, link *proxy, makeChanges func()) {
				must(t, apiserver.Kill())
				link.cut()
				must(t, apiserver.Start(limit(t)))
				makeChanges()
			},
		},
		{
			name: "a restarted API server",
			fault: func(t *testing.T, link *proxy, makeChanges func()) {
				link.pause()
				must(t, apiserver.Restart(limit(t)))
				makeChanges()
			},
		},
		{
			name: "a compaction of history", relists: true,
			fault: func(t *testing.T, link *proxy, makeChanges func()) {
				link.pause()
				link.drop()
				makeChanges()
				_, err := b.CompactEtcd(limit(t))
				must(t, err)
				must(t, apiserver.Restart(limit(t)))
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			direct := connect(t, nil)
			ns := newNamespace(t, direct)
			maps := kube.Namespaced[corev1.ConfigMap](direct, ns)
			link, cfg := newProxy(t, loadConfig(t, ""))
			var sent requests
			c := connect(t, &kube.ClientOptions{Config: cfg, Middleware: []kube.Middleware{sent.layer}})

			for _, name := range []string{"deleted", "replaced", "same", "updated"} {
				create(t, maps, name, "1")
			}
			f := follow(t, kube.Namespaced[corev1.ConfigMap](c, ns), kube.WatchOptions{})
			f.expect(t, "ADDED deleted=1", "ADDED replaced=1", "ADDED same=1", "ADDED updated=1")
			f.inStep(t)
			page, err := maps.List(limit(t), &kube.ListOptions{Limit: 1})
			must(t, err)

			tc.fault(t, link, func() {
				remove(t, maps, "deleted")
				remove(t, maps, "replaced")
				create(t, maps, "replaced", "2")
				create(t, maps, "created", "2")
				_, err := maps.Patch(limit(t), "updated", setValue("2"), nil)
				must(t, err)
			})
			link.restore()
			f.expect(t, "DELETED deleted", "DELETED replaced", "ADDED replaced=2", "ADDED created=2", "MODIFIED updated=2")
			create(t, maps, "last", "3")
			f.expect(t, "ADDED last=3") // and nothing in between

			trouble := f.trouble.all()
			expired := errors.Is(trouble, kube.ErrExpired)
			if tc.relists && !expired || tc.resumes && (expired || trouble == nil) {
				t.Errorf("errors = %v; the version must have expired: %t", trouble, tc.relists)
			}
			if lists := sent.count("sendInitialEvents=true"); tc.relists && lists < 2 || tc.resumes && lists > 1 {
				t.Errorf("%d lists; the watch must list again: %t; errors: %v", lists, tc.relists, trouble)
			}
			if tc.relists {
				wantExpired(t, maps, page.ListMeta)
			}
		})
	}
	t.Run("a pause of the API server", func(t *testing.T) {
		var sent requests
		c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
		maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
		f := follow(t, maps, kube.WatchOptions{})
		f.inStep(t)

		must(t, apiserver.Pause())
		eventually(t, "the server is paused", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := maps.List(ctx, nil)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return errors.Join(errors.New("the server responds"), err)
		})
		var writing sync.WaitGroup
		writing.Go(func() {
			if _, err := maps.Create(limit(t), configMap("late", "1"), nil); err != nil {
				t.Error(err)
			}
		})
		must(t, apiserver.Resume())
		writing.Wait()
		f.expect(t, "ADDED late=1")
		if n := sent.count("watch=true"); n != 1 || f.trouble.all() != nil {
			t.Errorf("%d watches, errors: %v; want 1 watch and no error", n, f.trouble.all())
		}
	})
}

// wantExpired checks that the server responds to every request for an old resource version that it has expired.
func wantExpired(t *testing.T, maps *kube.API[corev1.ConfigMap], old metav1.ListMeta) {
	t.Helper()
	for ev, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ResourceVersion: old.ResourceVersion}) {
		if !errors.Is(err, kube.ErrExpired) {
			t.Errorf("a watch from version %s: %v, %v; want ErrExpired", old.ResourceVersion, ev, err)
		}
		break
	}
	for _, o := range []kube.ListOptions{
		{Continue: old.Continue, Limit: 1},
		{ResourceVersion: old.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	} {
		if _, err := maps.List(limit(t), &o); !errors.Is(err, kube.ErrExpired) {
			t.Errorf("a list with %+v: %v, want ErrExpired", o, err)
		}
	}
}

// TestWatchRecoversFromSilentConnection checks that a watch resumes within 45 seconds after its connection has become
// silent.
func TestWatchRecoversFromSilentConnection(t *testing.T) {
	t.Parallel()
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	link, cfg := newProxy(t, loadConfig(t, ""))
	through := connect(t, &kube.ClientOptions{Config: cfg})
	f := follow(t, kube.Namespaced[corev1.ConfigMap](through, ns), kube.WatchOptions{})
	f.inStep(t)

	began := time.Now()
	link.silence()
	create(t, kube.Namespaced[corev1.ConfigMap](direct, ns), "unseen", "1")
	f.expect(t, "ADDED unseen=1")
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("the watch was silent for %v, want at most 45s", took)
	}
	if f.trouble.all() == nil {
		t.Error("no error was reported")
	}
}

// TestInterruptedListIsCompleted checks that a watch retries an interrupted list until it is complete, whether the list
// is streamed or paged, and reports no object twice.
func TestInterruptedListIsCompleted(t *testing.T) {
	const objects, size = 100, 20 << 10
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	maps := kube.Namespaced[corev1.ConfigMap](direct, ns)
	var want []string
	var creating sync.WaitGroup
	for i := range objects {
		cm := configMap(fmt.Sprintf("big-%d", i), "1")
		cm.Data["ballast"] = ballast(t, size)
		want = append(want, "ADDED "+cm.Name+"=1")
		creating.Go(func() {
			if _, err := maps.Create(limit(t), cm, nil); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
	for _, tc := range []struct {
		name   string
		config kube.WatchOptions
	}{
		{"a streaming list", kube.WatchOptions{}},
		{"a page", kube.WatchOptions{Paged: true, PageSize: 40}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			link, cfg := newProxy(t, loadConfig(t, ""))
			dropped := link.dropAfter(objects * size * 6 / 10)
			f := follow(t, kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Config: cfg}), ns), tc.config)
			if n := f.inStep(t); n != objects {
				t.Errorf("%d changes were reported before the end of the list, want %d", n, objects)
			}
			f.expect(t, slices.Clone(want)...)
			select {
			case <-dropped:
			default:
				t.Error("the list was not interrupted")
			}
			if err := f.trouble.all(); err == nil {
				t.Error("no error was reported")
			}
		})
	}
}

// TestRejectedPagesAreRequestedAgain checks that a list of many pages is completed although every fifth request is
// rejected, and that no page is requested again that was received.
func TestRejectedPagesAreRequestedAgain(t *testing.T) {
	t.Parallel()
	const pages, size = 20, 5
	direct := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](direct, newNamespace(t, direct))
	var want []string
	for i := range pages * size {
		cm := create(t, maps, fmt.Sprintf("small-%d", i), "1")
		want = append(want, "ADDED "+cm.Name+"=1")
	}
	var lists, rejected atomic.Int64
	var received sync.Map // the queries of the requests that were not rejected
	reject := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
			if req.URL.Query().Get("limit") == "" {
				return next.RoundTrip(req)
			}
			if lists.Add(1)%5 == 0 {
				rejected.Add(1)
				return overloaded(req), nil
			}
			if _, again := received.LoadOrStore(req.URL.RawQuery, true); again {
				t.Errorf("a page was requested again: %s", req.URL.RawQuery)
			}
			return next.RoundTrip(req)
		})
	}
	c := connect(t, &kube.ClientOptions{
		PerAttempt: []kube.Middleware{reject}, Retry: &kube.RetryOptions{MaxAttempts: 1},
	})
	f := follow(t, kube.Namespaced[corev1.ConfigMap](c, maps.Namespace()), kube.WatchOptions{Paged: true, PageSize: size})
	if n := f.inStep(t); n != len(want) {
		t.Errorf("%d changes were reported before the end of the list, want %d", n, len(want))
	}
	f.expect(t, want...)
	if lists.Load()-rejected.Load() < pages || rejected.Load() < pages/5 {
		t.Errorf("%d requests, of which %d were rejected, for %d pages", lists.Load(), rejected.Load(), pages)
	}
}

// ballast returns a string that hardly compresses.
func ballast(t *testing.T, size int) string {
	t.Helper()
	raw := make([]byte, size*3/4)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func create(t *testing.T, api *kube.API[corev1.ConfigMap], name, value string) *corev1.ConfigMap {
	t.Helper()
	cm, err := api.Create(limit(t), configMap(name, value), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

func remove(t *testing.T, api *kube.API[corev1.ConfigMap], name string) {
	t.Helper()
	if err := api.Delete(limit(t), name, nil); err != nil {
		t.Fatal(err)
	}
}
