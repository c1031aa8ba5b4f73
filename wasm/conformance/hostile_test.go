// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// prompt is the time within which the host must do what no guest may delay. The time limit of a call is much longer.
const prompt = 30 * time.Second

// hostile builds the hostile guest.
func hostile(t *testing.T, flags ...string) []byte {
	t.Helper()
	return buildC(t, "wasm/conformance/testdata/hostile.c", flags...)
}

// newHostileWorld runs a host with two workers, so that few guests can use up all of them.
func newHostileWorld(t *testing.T, o host.Options) *world {
	t.Helper()
	o.Workers = 2
	return newWorld(t, program{compilation: t.TempDir()}, o)
}

// says waits until a module has logged a text, and returns the rest of the record.
func (w *world) says(t *testing.T, module, prefix string) string {
	t.Helper()
	rest := ""
	w.await(t, fmt.Sprintf("%q of module %s", prefix, module), func() bool {
		for _, r := range w.logged(module) {
			if text, ok := strings.CutPrefix(r.text, prefix); ok {
				rest = strings.TrimSpace(text)
				return true
			}
		}
		return false
	})
	return rest
}

// within checks that a call returns soon.
func within(t *testing.T, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(prompt):
		t.Fatalf("%s has not returned within %v", what, prompt)
	}
}

// add adds a module without defaults of the suite.
func (w *world) add(t *testing.T, m host.Module) {
	t.Helper()
	within(t, "Set of "+m.Name, func() {
		if err := w.Set(t.Context(), m); err != nil {
			t.Error(err)
		}
	})
}

// heap returns the bytes of the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestOnlyModuleOfAProgramCanBeReconfigured(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	binary := module{describes: actor}.encode()
	for n := range 3 {
		w.add(t, host.Module{Name: "a", Binary: binary, Args: []string{fmt.Sprint(n)}})
		w.await(t, "the start", func() bool { return w.status("a").Phase == host.Running })
	}
	within(t, "Remove", func() { w.Remove(t.Context(), "a") })
	w.add(t, host.Module{Name: "a", Binary: binary})
	w.await(t, "the start", func() bool { return w.status("a").Phase == host.Running })
}

func TestCallWithoutEndDelaysNeitherTheRemovalNorOtherModules(t *testing.T) {
	actors, reconcilers := hostile(t), hostile(t, "-DRECONCILER")
	for name, m := range map[string]host.Module{
		"actor":      {Binary: actors, Args: []string{"call"}},
		"reconciler": {Binary: reconcilers},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			putTask(w, "endless")
			m.Name = "hostile"
			w.add(t, m)
			w.says(t, m.Name, "calls")
			removal := make(chan struct{})
			go func() {
				defer close(removal)
				w.Remove(context.Background(), m.Name)
			}()
			w.add(t, host.Module{Name: "other", Binary: module{describes: actor}.encode()})
			w.awaitFor(t, prompt, "the start of the other module", func() bool {
				return w.status("other").Phase == host.Running
			})
			within(t, "Remove", func() { <-removal })
		})
	}
}

func putTask(w *world, name string) {
	w.server.put(taskPath, object{
		"apiVersion": "conformance.test/v1", "kind": "Task", "metadata": object{"namespace": "x", "name": name},
	})
}

func TestInitialisationCanNotUseTheHost(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	early := hostile(t, "-DEARLY")
	for n := range 3 {
		w.add(t, host.Module{Name: fmt.Sprint("early-", n), Binary: early})
	}
	for n := range 3 {
		name := fmt.Sprint("early-", n)
		want := fmt.Sprintf("%d %d %d", abi.NotReady, abi.NotReady, abi.NotFound)
		if got := w.says(t, name, "early"); got != want {
			t.Errorf("module %s was refused with %s, want %s", name, got, want)
		}
		if got := w.says(t, name, "id"); got != "1" {
			t.Errorf("the first id of module %s is %s, want 1", name, got)
		}
	}
	if n := len(w.server.received(func(r received) bool { return r.path == "/test/stall" })); n > 0 {
		t.Errorf("the server has received %d requests of modules that were being initialised", n)
	}
}

func TestInitialisationWithoutEndDoesNotDelayOtherModules(t *testing.T) {
	for name, m := range map[string]module{
		"_initialize":                       {},
		"start function":                    {starts: true},
		"start function, and without image": {starts: true, setsTable: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			m.describes, m.waits = actor, "_initialize"
			hangs := m.encode()
			for n := range 5 {
				w.add(t, host.Module{Name: fmt.Sprint("hostile-", n), Binary: hangs, Limits: host.Limits{CallTimeout: time.Minute}})
			}
			w.await(t, "a start", func() bool { return w.status("hostile-0").Stats.Starts > 0 })
			w.add(t, host.Module{Name: "other", Binary: module{describes: actor}.encode()})
			w.awaitFor(t, prompt, "the start of the other module", func() bool {
				return w.status("other").Phase == host.Running
			})
			within(t, "Remove", func() { w.Remove(t.Context(), "hostile-0") })
		})
	}
}

func TestEndlessLoopsDoNotDelayOtherModules(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	binary := hostile(t)
	for n := range 6 {
		w.add(t, host.Module{
			Name: fmt.Sprint("hostile-", n), Binary: binary, Args: []string{"loop"},
			Limits: host.Limits{CallTimeout: time.Minute},
		})
	}
	w.await(t, "the loops", func() bool { return w.status("hostile-5").Stats.Starts > 0 })
	w.add(t, host.Module{Name: "other", Binary: module{describes: actor}.encode()})
	w.awaitFor(t, prompt, "the start of the other module", func() bool { return w.status("other").Phase == host.Running })
}

func TestFunctionsOfTheHostObeyTheTimeLimit(t *testing.T) {
	binary := hostile(t)
	for _, act := range []string{"invalid", "loop"} {
		t.Run(act, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{MaxFailures: 1})
			limits := host.Limits{CallTimeout: 50 * time.Millisecond}
			w.add(t, host.Module{Name: "a", Binary: binary, Args: []string{act}, Limits: limits})
			w.awaitFor(t, prompt, "the quarantine", func() bool { return w.status("a").Phase == host.Quarantined })
			if err := w.status("a").Err; !strings.Contains(err.Error(), "time limit") {
				t.Errorf("the error is %q, want the time limit", err)
			}
		})
	}
	w := newHostileWorld(t, host.Options{})
	w.add(t, host.Module{Name: "write", Binary: binary, Args: []string{"write"}})
	if got := w.says(t, "write", "fd_write"); got != "0" {
		t.Errorf("fd_write = %s", got)
	}
	w.add(t, host.Module{Name: "random", Binary: binary, Args: []string{"random"}})
	if got := w.says(t, "random", "random"); got != "0" {
		t.Errorf("random_get = %s", got)
	}
}

func TestGuestCanNotFillTheMemoryOfTheHost(t *testing.T) {
	const limit = 32 << 20
	for name, m := range map[string]module{
		"bodies":    {submits: encode(abi.Request{Method: "PUT", URL: "/test/hang?for=bodies"}), body: abi.MaxMessage - 1000},
		"responses": {submits: encode(get("/test/flood"))},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, host.Options{})
			before := heap()
			m.describes = actor
			w.add(t, host.Module{
				Name: "a", Binary: m.encode(), ServiceAccount: core.ObjectRef{Namespace: "home", Name: "greedy"},
				Limits: host.Limits{BufferBytes: limit, RequestsPerSecond: 1 << 20},
			})
			w.await(t, "the start of the requests", func() bool { return w.status("a").Stats.BufferBytes > 0 })
			// The buffers are full when neither the guest nor the server can send any more.
			state := func() [3]int64 {
				s := w.status("a").Stats
				return [3]int64{w.server.flooded.Load(), int64(s.Operations), s.BufferBytes}
			}
			for last := [3]int64{-1}; last != state() && last[0] < 100*limit; {
				last = state()
				<-time.After(time.Second)
			}
			s, grown := w.status("a"), int64(heap())-int64(before)
			t.Logf("%d requests, %d bytes received, %d bytes in the budget, heap grown by %d bytes",
				s.Stats.Operations, w.server.flooded.Load(), s.Stats.BufferBytes, grown)
			if used := s.Stats.BufferBytes; used == 0 || used > 2*limit {
				t.Errorf("the host uses %d bytes for the module, want at most %d", used, 2*limit)
			}
			if grown > 3*limit {
				t.Errorf("the heap of the host has grown by %d bytes", grown)
			}
		})
	}
}

func TestBudgetIsFreeWhenTheOperationsHaveEnded(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g"})
	before := w.status("g").Stats.BufferBytes
	for range 3 {
		for _, n := range []int{0, 1, 200_000} {
			g.last(g.submit("l", abi.OpRequest, get(fmt.Sprintf("/test/big?bytes=%d", n))))
		}
		g.do("cancel %d", g.submit("h", abi.OpRequest, get("/test/endless")))
		g.do("cancel %d", g.submit("w", abi.OpWatch, configMaps("g")))
		g.do("call %d 100 %x", abi.OpRequest, encode(get("/test/big?bytes=100000")))
		g.barrier()
	}
	w.await(t, "the free budget", func() bool { return w.status("g").Stats.BufferBytes <= before })
}

func TestWatchesOfAModuleAreLimited(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	binary := hostile(t)
	w.add(t, host.Module{
		Name: "many", Binary: binary, Args: []string{"watches", "100"}, Limits: host.Limits{Watches: 7},
	})
	if got := w.says(t, "many", "accepted"); got != "7" {
		t.Errorf("the host has accepted %s watches, want 7", got)
	}
	w.add(t, host.Module{
		Name: "reconciler", Binary: module{describes: reconciler}.encode(), Limits: host.Limits{Watches: 1},
	})
	w.await(t, "the start", func() bool { return w.status("reconciler").Phase == host.Running })
	twice := strings.Replace(reconciler, `"controllers":[`, `"controllers":[`+
		`{"name":"b","for":{"version":"v1","kind":"Pod","resource":"pods","namespaced":true}},`, 1)
	w.add(t, host.Module{Name: "two", Binary: module{describes: twice}.encode(), Limits: host.Limits{Watches: 1}})
	w.await(t, "the failure", func() bool {
		err := w.status("two").Err
		return err != nil && strings.Contains(err.Error(), "Limits.Watches")
	})
}

func TestForbiddenAndEndedWatchesLeaveNothingBehind(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	binary := hostile(t)
	w.server.deny(configMapPath)
	account := core.ObjectRef{Namespace: "x", Name: "y"}
	before := heap()
	w.add(t, host.Module{
		Name: "a", Binary: binary, Args: []string{"cancelled", "5000"}, ServiceAccount: account,
		Limits: host.Limits{CallTimeout: time.Minute},
	})
	w.says(t, "a", "accepted")
	within(t, "Remove", func() { w.Remove(t.Context(), "a") })
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap of the host has grown by %d bytes", grown)
	}
}

func TestSelectorsAreLimited(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	g := w.start(t, host.Module{Name: "g"})
	long, terms := strings.Repeat("a", 5000), strings.Repeat("!a,", 2000)+"!b"
	for _, selectors := range [][2]string{{terms, ""}, {"", "metadata.name=" + long}, {"a in (", ""}} {
		watch := configMaps("g")
		watch.LabelSelector, watch.FieldSelector = selectors[0], selectors[1]
		g.wantCode(abi.Invalid, "submit w %d 0 %x", abi.OpWatch, encode(watch))
	}
	id := g.watch("w", configMaps("g"))
	g.synced(id)
	g.wantCode(abi.Invalid, "call %d 4096 %x", abi.OpList, encode(abi.List{Watch: id, LabelSelector: terms}))
}

func TestDeletedServiceAccountLosesItsReads(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{AuthorizationInterval: 20 * time.Millisecond})
	account := core.ObjectRef{Namespace: "home", Name: "reader"}
	g := w.start(t, host.Module{Name: "g", ServiceAccount: account})
	g.put("a", nil)
	id := g.watch("w", configMaps("g"))
	g.known(id, "a")
	w.server.mu.Lock()
	w.server.deleted["reader"] = true
	w.server.mu.Unlock()
	g.await(t, "the end of the watch", func() bool {
		all := g.items(id)
		return len(all) > 0 && all[len(all)-1].flags&abi.FlagError != 0
	})
	w.server.mu.Lock()
	delete(w.server.deleted, "reader") // so that the guest can report
	w.server.mu.Unlock()
	g.wantCodes([]abi.Code{abi.Forbidden, abi.NotFound}, "call %d 4096 %x", abi.OpGet,
		encode(abi.Get{Watch: id, Namespace: "g", Name: "a"}))
}

func TestRevokedRoleEndsTheReads(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{AuthorizationInterval: 20 * time.Millisecond})
	g := w.start(t, host.Module{Name: "g", ServiceAccount: core.ObjectRef{Namespace: "home", Name: "reader"}})
	g.put("a", nil)
	id := g.watch("w", configMaps("g"))
	g.known(id, "a")
	w.server.deny(configMapPath)
	g.wantError(id, abi.Forbidden)
	g.wantCodes([]abi.Code{abi.Forbidden, abi.NotFound}, "call %d 4096 %x", abi.OpGet,
		encode(abi.Get{Watch: id, Namespace: "g", Name: "a"}))
}

// TestRefusedReviewEndsNoWatchUntilItPersists has a server that refuses access reviews, as one that has just started.
func TestRefusedReviewEndsNoWatchUntilItPersists(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{AuthorizationInterval: 20 * time.Millisecond})
	g := w.start(t, host.Module{Name: "g", ServiceAccount: core.ObjectRef{Namespace: "home", Name: "reader"}})
	refuse := func(reviews int) {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		w.server.refusals = reviews
	}
	reviews := func() int {
		return len(w.server.received(func(r received) bool { return strings.HasSuffix(r.path, "accessreviews") }))
	}
	refuse(1)
	g.wantError(g.watch("w", configMaps("g")), abi.Unavailable)
	id := g.watch("w", configMaps("g"))
	g.synced(id)
	for n := range 3 {
		const refused = 5
		before := reviews()
		refuse(refused)
		w.await(t, "a check after the refusals", func() bool {
			w.server.mu.Lock()
			left := w.server.refusals
			w.server.mu.Unlock()
			return left == 0 && reviews() >= before+refused+4
		})
		g.version(id, "a", g.put("a", object{"n": fmt.Sprint(n)}))
	}
	refuse(1 << 30)
	g.wantError(id, abi.Forbidden)
}

func TestRequestsForAReconcilerAreLimited(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	binary := hostile(t, "-DRECONCILER")
	putTask(w, "often")
	begun := time.Now()
	w.add(t, host.Module{Name: "a", Binary: binary, Limits: host.Limits{RequestsPerSecond: 20}})
	patches := func() int {
		return len(w.server.received(func(r received) bool { return r.method == "PATCH" }))
	}
	w.await(t, "the writes", func() bool { return patches() >= 60 })
	if passed := time.Since(begun); passed < 900*time.Millisecond {
		t.Errorf("60 writes took %v, want at least 1 s with 20 a second after a burst of 40", passed)
	}
}

func TestResultWithTooManyObjectsIsRefused(t *testing.T) {
	w := newHostileWorld(t, host.Options{MaxFailures: 1})
	binary := hostile(t, "-DRECONCILER")
	putTask(w, "many")
	w.add(t, host.Module{Name: "a", Binary: binary})
	w.await(t, "the quarantine", func() bool { return w.status("a").Phase == host.Quarantined })
	if n := len(w.server.received(func(r received) bool { return r.method == "PATCH" })); n > 0 {
		t.Errorf("the host has applied %d objects of a result that is too large", n)
	}
}

func TestGuestHasNoFilesAndNoSockets(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	w.add(t, host.Module{
		Name: "a", Binary: hostile(t), Args: []string{"system"}, Limits: host.Limits{LogsPerSecond: 1000},
	})
	w.says(t, "a", "sock_shutdown")
	checked := 0
	for _, r := range w.logged("a") {
		const badDescriptor, notSupported = 8, 52
		name, code, ok := strings.Cut(r.text, " ")
		if !ok || !strings.Contains(name, "_") {
			continue
		}
		checked++
		if code != fmt.Sprint(badDescriptor) && code != fmt.Sprint(notSupported) {
			t.Errorf("%s = %s, want EBADF or ENOSYS", name, code)
		}
	}
	if checked < 33 {
		t.Errorf("the guest has reported %d functions", checked)
	}
}

func TestGuestCanNotLeaveTheServer(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	origin := "https://hooks.example.com"
	g := w.start(t, host.Module{Name: "g", Origins: []string{origin}})
	for url, code := range map[string]abi.Code{
		"/api/../../secrets":       abi.Invalid,
		"/api/%2e%2e/%2E%2E/other": abi.Invalid,
		"/..":                      abi.Invalid,
		"//other.example.com/":     abi.Invalid,
		"https://example.com/":     abi.Invalid,
		"api/v1":                   abi.Invalid,
	} {
		g.wantCode(code, "call %d 4096 %x", abi.OpRequest, encode(get(url)))
		g.wantCode(code, "submit l %d 0 %x", abi.OpRequest, encode(get(url)))
	}
	for _, url := range []string{
		"https://example.com/", "http://hooks.example.com/", "https://hooks.example.com:444/",
		"https://hooks.example.com.example.com/", "https://hooks.example.com@example.com/", "file:///etc/passwd",
		"http://169.254.169.254/", "http://localhost/",
	} {
		g.wantCodes([]abi.Code{abi.Forbidden, abi.Invalid}, "call %d 4096 %x", abi.OpHTTP, encode(get(url)))
	}
	connect := abi.Request{Method: "CONNECT", URL: "/api/v1"}
	g.wantCode(abi.Forbidden, "call %d 4096 %x", abi.OpRequest, encode(connect))
	connect.URL = origin + "/"
	g.wantCode(abi.Forbidden, "call %d 4096 %x", abi.OpHTTP, encode(connect))
}

func TestNameOfALocalAddressIsNotReached(t *testing.T) {
	w := newWorld(t, buildProgram(t, "C"), host.Options{})
	local := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(local.Close)
	named := strings.Replace(local.URL, "127.0.0.1", "localhost", 1)
	g := w.start(t, host.Module{Name: "g", Origins: []string{local.URL, named}})
	g.wantCode(abi.Forbidden, "call %d 4096 %x", abi.OpHTTP, encode(get(named+"/")))
	g.wantError(g.submit("l", abi.OpHTTP, get(named+"/")), abi.Forbidden)
	g.wantResponse(g.submit("l", abi.OpHTTP, get(local.URL+"/")), 200)
}

func TestLongestDelayDoesNotEnd(t *testing.T) {
	w := newHostileWorld(t, host.Options{})
	w.add(t, host.Module{Name: "a", Binary: hostile(t), Args: []string{"never"}})
	if got := w.says(t, "a", "delay"); got != "1" {
		t.Fatalf("the delay is refused with %s", got)
	}
	g := w.set(t, host.Module{Name: "witness", Binary: module{describes: actor}.encode()})
	g.await(t, "the start", func() bool { return w.status("witness").Phase == host.Running })
	if slices.ContainsFunc(w.logged("a"), func(r record) bool { return strings.HasPrefix(r.text, "item") }) {
		t.Error("the delay has ended at once")
	}
}

func TestModuleStaysLoadedIfItsMemoryCanNotBeStored(t *testing.T) {
	w := newHostileWorld(t, host.Options{IdleAfter: 20 * time.Millisecond, MaxFailures: 1})
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	w.add(t, host.Module{Name: "a", Binary: module{describes: actor}.encode()})
	w.says(t, "a", "module stays in memory")
	if s := w.status("a"); s.Phase != host.Running || s.Failures != 0 || s.Stats.Starts != 1 {
		t.Errorf("the status is %+v, want a module that runs", s)
	}
}

func TestNoModuleIsAddedAfterTheEndOfRun(t *testing.T) {
	var w *world
	t.Run("run", func(t *testing.T) { w = newHostileWorld(t, host.Options{}) })
	if err := w.Set(t.Context(), host.Module{Name: "late", Binary: module{describes: actor}.encode()}); err == nil {
		t.Error("Set has added a module after the end of Run")
	}
}
