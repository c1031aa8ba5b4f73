// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestWatch promises that one watch tells what the server tells, to its end.
func TestWatch(t *testing.T) {
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

	t.Run("every change after a version is told, with its object", func(t *testing.T) {
		var got []string
		for ev, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ResourceVersion: before.ResourceVersion}) {
			if err != nil {
				t.Fatal(err)
			}
			if !ours(ev) {
				continue
			}
			if ev.Object.Kind != "ConfigMap" || ev.Object.ResourceVersion == "" {
				t.Errorf("an object lacks its kind or its version: %v", ev.Object)
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
	t.Run("the objects that are there come first, up to a bookmark", func(t *testing.T) {
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

// TestWatchTimeout promises that its timeout ends a watch in good order, and that bookmarks tell meanwhile how far it has
// come, unless they are declined.
func TestWatchTimeout(t *testing.T) {
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
			o := &request.WatchOptions{ResourceVersion: before.ResourceVersion, Timeout: 10 * time.Second, NoBookmarks: noBookmarks}
			var unseen string // a version that only a bookmark can tell of
			told := false
			for ev, err := range maps.WatchOnce(limit(t), o) {
				switch {
				case err != nil:
					t.Error(err)
				case ev.Type == kube.Bookmark:
					told = told || unseen != "" && !older(t, ev.Object.ResourceVersion, unseen)
				case ev.Object.Name == "seen":
					cm, err := elsewhere.Create(limit(t), configMap(fmt.Sprintf("unseen-%t", noBookmarks), "1"), nil)
					if err != nil {
						t.Error(err)
						return
					}
					unseen = cm.ResourceVersion
				}
			}
			if told == noBookmarks {
				t.Errorf("bookmarks declined: %t; told that the watch has come to version %q: %t", noBookmarks, unseen, told)
			}
		})
	}
	watches.Wait()
}

// older reports whether a version is older than another.
func older(t *testing.T, version, than string) bool {
	t.Helper()
	c, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		t.Error(err)
	}
	return c < 0
}

// TestHealingWatch promises that a watch goes on whatever happens to the server or to the connection, and that it tells
// every change exactly once, also those that happened while nobody could tell it.
func TestHealingWatch(t *testing.T) {
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
		// fault comes between the watch and the server, and calls meanwhile when the watch can't be told of it.
		fault func(t *testing.T, link *proxy, meanwhile func())
		// Whether the watch must go on from where it was, or must list anew; else it depends on what the server knows.
		resumes, relists bool
	}{
		{
			name: "across a cut connection", resumes: true,
			fault: func(_ *testing.T, link *proxy, meanwhile func()) {
				link.cut()
				meanwhile()
			},
		},
		{
			name: "across a killed API server",
			fault: func(t *testing.T, link *proxy, meanwhile func()) {
				must(t, apiserver.Kill())
				link.cut()
				must(t, apiserver.Start(limit(t)))
				meanwhile()
			},
		},
		{
			name: "across a restarted API server",
			fault: func(t *testing.T, link *proxy, meanwhile func()) {
				link.pause()
				must(t, apiserver.Restart(limit(t)))
				meanwhile()
			},
		},
		{
			name: "across a compaction of history", relists: true,
			fault: func(t *testing.T, link *proxy, meanwhile func()) {
				link.pause()
				link.drop()
				meanwhile()
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
			if expired := errors.Is(trouble, kube.ErrExpired); tc.relists && !expired || tc.resumes && (expired || trouble == nil) {
				t.Errorf("trouble = %v; the server should have forgotten the version: %t", trouble, tc.relists)
			}
			if lists := sent.count("sendInitialEvents=true"); tc.relists && lists < 2 || tc.resumes && lists > 1 {
				t.Errorf("%d lists; should the watch list anew: %t; trouble: %v", lists, tc.relists, trouble)
			}
			if tc.relists {
				wantForgotten(t, maps, page.ListMeta)
			}
		})
	}
	t.Run("across a pause of the API server", func(t *testing.T) {
		var sent requests
		c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
		maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
		f := follow(t, maps, kube.WatchOptions{})
		f.inStep(t)

		must(t, apiserver.Pause())
		eventually(t, "the server pauses", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := maps.List(ctx, nil)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return errors.Join(errors.New("it answers"), err)
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
			t.Errorf("%d watches; trouble: %v", n, f.trouble.all())
		}
	})
}

// wantForgotten wants the server to say that it has forgotten an old version, whatever is asked about it.
func wantForgotten(t *testing.T, maps *kube.API[corev1.ConfigMap], old metav1.ListMeta) {
	t.Helper()
	for ev, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ResourceVersion: old.ResourceVersion}) {
		if !errors.Is(err, kube.ErrExpired) {
			t.Errorf("a watch from version %s: %v, %v; want ErrExpired", old.ResourceVersion, ev, err)
		}
		break
	}
	for _, o := range []kube.ListOptions{
		{Continue: old.Continue, Limit: 1},
		{ResourceVersion: old.ResourceVersion, ResourceVersionMatch: request.Exact},
	} {
		if _, err := maps.List(limit(t), &o); !errors.Is(err, kube.ErrExpired) {
			t.Errorf("a list with %+v: %v, want ErrExpired", o, err)
		}
	}
}

// TestSilentConnection promises that a watch whose connection has died without a word is taken up again in 45 seconds.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	link, cfg := newProxy(t, loadConfig(t, ""))
	f := follow(t, kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Config: cfg}), ns), kube.WatchOptions{})
	f.inStep(t)

	began := time.Now()
	link.silence()
	create(t, kube.Namespaced[corev1.ConfigMap](direct, ns), "untold", "1")
	f.expect(t, "ADDED untold=1")
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("the watch was silent for %v", took)
	}
	if f.trouble.all() == nil {
		t.Error("no trouble was reported")
	}
}

// TestListCutInTheMiddle promises that a list that breaks off is taken up until it is complete, whichever way it comes,
// and that nothing is told twice.
func TestListCutInTheMiddle(t *testing.T) {
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
				t.Errorf("%d changes were told before the end of the list, want %d", n, objects)
			}
			f.expect(t, slices.Clone(want)...)
			select {
			case <-dropped:
			default:
				t.Error("the list was never cut")
			}
			if err := f.trouble.all(); err == nil {
				t.Error("no trouble was reported")
			}
		})
	}
}

// ballast returns text that can't be compressed much.
func ballast(t *testing.T, size int) string {
	t.Helper()
	raw := make([]byte, size*3/4)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// create creates a ConfigMap.
func create(t *testing.T, api *kube.API[corev1.ConfigMap], name, value string) *corev1.ConfigMap {
	t.Helper()
	cm, err := api.Create(limit(t), configMap(name, value), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// remove deletes a ConfigMap.
func remove(t *testing.T, api *kube.API[corev1.ConfigMap], name string) {
	t.Helper()
	if err := api.Delete(limit(t), name, nil); err != nil {
		t.Fatal(err)
	}
}
