// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// largeBytes is the size of the objects of putLarge.
const largeBytes = 50_000

// putLarge creates ConfigMaps with data that can't be compressed much.
func putLarge(s *server, namespace string, objects int) {
	var all []object
	for n := range objects {
		data := make([]byte, largeBytes/2)
		_, _ = rand.Read(data)
		all = append(all, configMap(object{"namespace": namespace, "name": fmt.Sprintf("large-%d", n)},
			object{"x": hex.EncodeToString(data)}))
	}
	s.putAll(configMapPath, all)
}

// selected selects all ConfigMaps of the namespace g on the fake server, by one of many selectors.
func selected(n int) abi.Watch {
	w := configMaps("g")
	w.LabelSelector, w.KeysOnly = fmt.Sprintf("!none-%d", n), true
	return w
}

// TestModuleCanNotFillTheCacheOfTheHost opens watches of 5 MB each with different selectors, as many as 100 MB.
func TestModuleCanNotFillTheCacheOfTheHost(t *testing.T) {
	const objects, watches, limit = 100, 20, 48 << 20
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g", Limits: host.Limits{CacheBytes: limit}})
	putLarge(w.server, "g", objects)
	before := heap()
	var ids []int64
	for n := range watches {
		id := g.watch("w", selected(n))
		ids = append(ids, id)
		g.await(t, "the end of the list", func() bool {
			all := g.items(id)
			return len(all) > 0 && all[len(all)-1].flags&(abi.FlagSynced|abi.FlagError) != 0
		})
	}
	var grown int64
	w.await(t, "the end of the watches that have exceeded the limit", func() bool {
		grown = int64(heap()) - int64(before)
		return grown <= limit*3/2
	})
	used := w.status("g").Stats.CacheBytes
	t.Logf("%d watches of %d MB: the heap has grown by %d MB, of which %d MB are counted", watches, objects*largeBytes/1_000_000,
		grown/1e6, used/1e6)
	if used > limit {
		t.Errorf("%d bytes are counted, want at most %d", used, limit)
	}
	if used < limit/2 || grown < used/2 {
		t.Errorf("%d bytes are counted, and the heap has grown by %d", used, grown)
	}
	g.wantError(ids[watches-1], abi.OverLimit)
	version := g.put("later", nil)
	g.version(ids[0], "later", version)
}

func TestWatchThatExceedsTheMemoryOfAModuleEndsAlone(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	limited := host.Limits{CacheBytes: 15 << 20}
	g := w.start(t, host.Module{Name: "g", Limits: limited})
	other := w.start(t, host.Module{Name: "other", Limits: limited})
	putLarge(w.server, "g", 200)
	first := g.watch("w", selected(0))
	g.synced(first)
	same := selected(0)
	same.LabelSelector = "!none-0,!none-0"
	again := g.watch("w", same) // the same objects count once
	g.synced(again)
	used := w.status("g").Stats.CacheBytes
	if used < 10_000_000 || used > 13<<20 {
		t.Errorf("%d bytes are counted for two watches of the same 10 MB", used)
	}
	second := g.watch("w", selected(1))
	g.wantError(second, abi.OverLimit)
	last := g.last(second)
	if text := last[len(last)-1].text; !strings.Contains(text, "Limits.CacheBytes") || !strings.Contains(text, "projection") {
		t.Errorf("the error is %s, want the limit and what to do", text)
	}
	w.says(t, "g", "watch has ended")
	reads := func() int {
		return len(w.server.received(func(r received) bool { return strings.Contains(r.query, "none-1") }))
	}
	before := reads()
	second = g.watch("w", selected(1))
	g.wantError(second, abi.OverLimit)
	last = g.last(second)
	if text := last[len(last)-1].text; !strings.Contains(text, "again in") {
		t.Errorf("the error of a watch that is tried again at once is %s, want when it is possible again", text)
	}
	if n := reads(); n != before || before == 0 {
		t.Errorf("the host has read the objects %d times, and %d times before the second attempt", n, before)
	}

	// The watch that another module has alone, or that both have, costs each of them the same.
	shared := other.watch("w", selected(0))
	other.synced(shared)
	w.await(t, "the counted bytes", func() bool {
		a, b := w.status("g").Stats.CacheBytes, w.status("other").Stats.CacheBytes
		return a < 13<<20 && b < 13<<20 && a-b < 1<<20 && b-a < 1<<20
	})
	version := g.put("later", nil)
	g.version(first, "later", version)
	g.version(again, "later", version)
	other.version(shared, "later", version)

	// Metadata is small, although another watch has the whole objects.
	metadata := selected(0)
	metadata.Projection = abi.ProjectionMetadata
	g.synced(g.watch("w", metadata))
	g.do("cancel %d", first)
	g.do("cancel %d", again)
	w.await(t, "the free memory", func() bool { return w.status("g").Stats.CacheBytes < 1<<20 })
	g.synced(g.watch("w", selected(2))) // the host refuses the one that has exceeded the limit for some time
}

// TestListWithoutEndIsWithinTheMemoryOfAModule has a server that sends objects as long as the host reads.
func TestListWithoutEndIsWithinTheMemoryOfAModule(t *testing.T) {
	const limit = 8 << 20
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g", Limits: host.Limits{CacheBytes: limit}})
	id := g.watch("w", abi.Watch{Version: "v1", Kind: "Endless", Resource: "endless", Namespaced: true, KeysOnly: true})
	g.wantError(id, abi.OverLimit)
	w.await(t, "the end of the request", func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.hanging["endless"] == 0
	})
	sent := w.server.flooded.Load()
	t.Logf("the server has sent %d bytes", sent)
	if sent < limit/2 || sent > limit+(64<<20) { // with what the connection keeps, and what a busy machine still reads
		t.Errorf("the server has sent %d bytes, want little more than %d", sent, limit)
	}
	w.await(t, "the free memory", func() bool { return w.status("g").Stats.CacheBytes == 0 })
}

// TestChangesThatWaitCountAsMemoryOfAModule has a guest that reads no changes of objects that change.
func TestChangesThatWaitCountAsMemoryOfAModule(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g", Limits: host.Limits{CacheBytes: 15 << 20}})
	putLarge(w.server, "g", 100)
	id := g.watch("H", selected(0))
	g.synced2(id)
	before := w.status("g").Stats.CacheBytes
	g.fill(id)
	putLarge(w.server, "g", 100)
	w.await(t, "the counted bytes", func() bool { return w.status("g").Stats.CacheBytes > before+(4<<20) })
	other := g.watch("H", selected(1)) // its objects and the old states do not fit
	g.awaitStatistics(other, func(s statistics) bool { return s.flags&abi.FlagError != 0 })
}

func TestReconcilerIsWithinItsMemoryForWatches(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	putLarge(w.server, "x", 200)
	w.add(t, host.Module{
		Name: "a", Binary: module{describes: reconciler}.encode(), Limits: host.Limits{CacheBytes: 5 << 20},
	})
	w.await(t, "the error", func() bool {
		err := w.status("a").Err
		return err != nil && strings.Contains(err.Error(), "Limits.CacheBytes")
	})
	w.await(t, "the free memory", func() bool { return w.status("a").Stats.CacheBytes == 0 })
	if s := w.status("a"); s.Phase != host.Running {
		t.Errorf("the module is %s, want Running", s.Phase)
	}
}

func TestWatchesThatSelectTheSameObjectsAreShared(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g"})
	g.put("a", nil, "x=1", "y=2")
	started := func() int {
		return len(w.server.received(func(r received) bool {
			return r.path == "/api/v1/namespaces/g/configmaps" && strings.Contains(r.query, "watch=true")
		}))
	}
	for _, selectors := range [][2]string{
		{"x=1,y=2", "metadata.name=a"},
		{"y==2,x==1,x=1", "metadata.name==a"},
		{"y in (2),x in (1)", "metadata.name=a"},
		{"x=1,y=2", "metadata.namespace=g,metadata.name=a"},
	} {
		for _, keysOnly := range []bool{false, true} {
			same := configMaps("g")
			same.LabelSelector, same.FieldSelector, same.KeysOnly = selectors[0], selectors[1], keysOnly
			id := g.watch("w", same)
			g.known(id, "a")
		}
	}
	if n := started(); n != 1 {
		t.Errorf("the server has %d watches, want 1", n)
	}
	wrong := configMaps("g")
	wrong.FieldSelector = "metadata.namespace=other"
	g.wantCode(abi.Invalid, "submit w %d 0 %x", abi.OpWatch, encode(wrong))
	for n, tt := range []struct {
		change func(*abi.Watch)
		want   abi.Code
	}{
		{func(w *abi.Watch) { w.Kind = "Configmap" }, abi.Invalid},
		{func(w *abi.Watch) { w.Namespaced = false }, abi.Unavailable}, // the host does not ask the server again so soon
	} {
		other := configMaps("")
		tt.change(&other)
		id := g.watch("w", other)
		g.wantError(id, tt.want)
		last := g.last(id)
		if text := last[len(last)-1].text; !strings.Contains(text, `\"ConfigMap\" and namespaced true`) {
			t.Errorf("watch %d: the error is %s", n, text)
		}
	}
}

// TestNoErrorNamesTheUserOfTheHost has a server whose refusals name the user, as API servers do.
func TestNoErrorNamesTheUserOfTheHost(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	w.server.mu.Lock()
	w.server.user = "system:serviceaccount:secret-namespace:kube-wasm"
	w.server.mu.Unlock()
	g := w.start(t, host.Module{Name: "g"})
	w.server.deny("/api/v1/secrets")
	w.server.deny("/api/v1/namespaces/home/serviceaccounts")
	w.server.deny("/api/v1/serviceaccounts")
	secrets := abi.Watch{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true}
	check := func(name string, id int64) {
		t.Helper()
		g.wantError(id, abi.Forbidden)
		last := g.last(id)
		if text := last[len(last)-1].text; strings.Contains(text, "secret-namespace") || !strings.Contains(text, name) {
			t.Errorf("the error is %s, want one that names %q, and not the user of the host", text, name)
		}
	}
	check("secrets", g.submit("l", abi.OpWatch, secrets))
	account := core.ObjectRef{Namespace: "home", Name: "reader"}
	w.add(t, host.Module{Name: "b", Binary: hostile(t), Args: []string{"call", "/api/v1/configmaps"}, ServiceAccount: account})
	if got := w.says(t, "b", "returned"); got != fmt.Sprint(int(abi.Forbidden)) {
		t.Errorf("a request without a token has the code %s, want Forbidden", got)
	}
	for _, name := range []string{"g", "b"} {
		if err := w.status(name).Err; err != nil && strings.Contains(err.Error(), "secret-namespace") {
			t.Errorf("the status of %s has the error %v", name, err)
		}
	}
}
