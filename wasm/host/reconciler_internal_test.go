// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

func TestFieldManagersAreShortAndDiffer(t *testing.T) {
	long := strings.Repeat("a", 300)
	seen := map[string]bool{}
	for _, module := range []string{"ns/name", long + "/b", long + "/c", strings.Repeat("ü", 200)} {
		manager := managerOf(module)
		if len(manager) > maxManager || seen[manager] {
			t.Errorf("the field manager of %.20q… is %q: it is too long, or another module has it", module, manager)
		}
		seen[manager] = true
	}
	if got := managerOf("ns/name"); got != "wasm-ns/name" {
		t.Errorf("the field manager is %q", got)
	}
}

func TestWatchesOfAControllerAreACopy(t *testing.T) {
	owns := append(make([]abi.Watch, 0, 4), abi.Watch{Kind: "a"}, abi.Watch{Kind: "b"})
	c := &abi.Controller{For: abi.Watch{Kind: "c"}, Owns: owns}
	watchesOf(c)
	if shared := owns[:3][2]; shared.Kind != "" {
		t.Errorf("the capacity of owns has %q", shared.Kind)
	}
}

func TestDurationsOfGuestsDoNotOverflow(t *testing.T) {
	for _, n := range []int64{1, 1 << 40, 1 << 62, 1<<63 - 1} {
		if d := millis(n); d < time.Millisecond || time.Now().Add(d).Before(time.Now()) {
			t.Errorf("millis(%d) = %v", n, d)
		}
	}
}

// TestInvalidControllerDoesNotBlockTheHost has a module whose valid controllers would run before the invalid one is
// found, while the start of the module holds the only token of the host.
func TestInvalidControllerDoesNotBlockTheHost(t *testing.T) {
	h, _ := runTestHost(t, newPodServer(t, 1, "").URL, Options{Workers: 1, MaxFailures: 1})
	good := testGuest{describes: describing(podController("")), response: `{"requeueAfterMillis":10}`}
	setGuest(t, h, Module{Name: "good", Binary: good.encode()})
	calls := func() uint64 { return statusOf(h, "good").Stats.Calls }
	await(t, "a call", func() bool { return calls() > 2 })
	var terms []string // which take long to check
	for n := range 200 {
		terms = append(terms, fmt.Sprintf("k%d!=v", n))
	}
	controllers := []string{podController("")}
	for n := range 100 {
		controllers = append(controllers, podController(fmt.Sprintf(`,"labelSelector":"x=y%d,%s"`, n,
			strings.Join(terms, ","))))
	}
	controllers = append(controllers, `{"name":"bad","for":{"version":"v1","resource":"pods"}}`)
	setGuest(t, h, Module{Name: "bad", Binary: testGuest{describes: describing(controllers...)}.encode()})
	await(t, "the quarantine", func() bool { return statusOf(h, "bad").Phase == Quarantined })
	before := calls()
	await(t, "another call", func() bool { return calls() > before+1 })
}

// TestRunsThatWaitHaveNotDecodedTheirObjects has runs that end while they wait for a place, for CPU time and for a
// worker.
func TestRunsThatWaitHaveNotDecodedTheirObjects(t *testing.T) {
	m := Module{Name: "a"}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]func(g *guest, r *reconciler){
		"place":    func(_ *guest, r *reconciler) { r.places <- struct{}{} },
		"CPU time": func(g *guest, _ *reconciler) { g.cpu.spend(time.Now(), time.Hour) },
		"worker":   func(g *guest, _ *reconciler) { g.host.acquire() },
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newTestHost(t, "http://127.0.0.1:1", Options{Workers: 1})
			g := h.newGuest(m, "")
			r := &reconciler{guest: g, places: make(chan struct{}, 1)}
			limit(g, r)
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer stop()
			var invalid wire.Packed // it can't be decoded
			_, err := r.reconcile(ctx, t.Context(), &abi.Controller{}, nil, nil, invalid)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("reconcile = %v, want the end of its context", err)
			}
			late, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if _, err := r.reconcile(late, ctx, &abi.Controller{}, nil, nil, invalid); err != errSkipped {
				t.Errorf("reconcile = %v at the end of its controller, want %v", err, errSkipped)
			}
		})
	}
}

// TestRunThatHasWaitedReconcilesTheCurrentObject has a pod that changes while its run waits for a worker.
func TestRunThatHasWaitedReconcilesTheCurrentObject(t *testing.T) {
	event := func(kind, uid string, version int) string {
		return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"p",`+
			`"uid":%q,"resourceVersion":"%d"}}}`, kind, uid, version)
	}
	for name, test := range map[string]struct {
		events []string
		want   string // the versions of the objects of later calls, each once
	}{
		"it was changed":  {[]string{event("MODIFIED", "u", 3)}, "3"},
		"it was deleted":  {[]string{event("DELETED", "u", 3)}, ""},
		"another follows": {[]string{event("DELETED", "u", 3), event("ADDED", "v", 4)}, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan string)
			server := newPodServer(t, 0, "").with(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintln(w, event("ADDED", "u", 1))
				_, _ = fmt.Fprintln(w, initialEventsEnd)
				for {
					_ = http.NewResponseController(w).Flush()
					select {
					case line := <-lines:
						_, _ = fmt.Fprintln(w, line)
					case <-r.Context().Done():
						return
					}
				}
			}, func(r *http.Request) bool { return r.URL.Path == "/api/v1/pods" })
			h, _ := runTestHost(t, server, Options{Workers: 1})
			var tape bytes.Buffer // of one instance, since the runs are of one object
			setGuest(t, h, Module{
				Name: "a", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode(),
				Record: func() (io.Writer, error) { return &tape, nil },
			})
			g := h.guests["a"]
			var r *reconciler
			await(t, "the first call", func() bool {
				g.mu.Lock()
				defer g.mu.Unlock()
				r = g.reconciler
				return r != nil && g.stats.Calls > 3 && len(r.places) == 0
			})
			in, err := r.input(&g.description.Controllers[0].For)
			if err != nil {
				t.Fatal(err)
			}
			version := func() string {
				head, err := in.State(core.ObjectRef{Namespace: "a", Name: "p"}).Head()
				if err != nil {
					return ""
				}
				return head.ResourceVersion
			}
			h.acquire()
			lines <- event("MODIFIED", "u", 2)
			await(t, "a run that waits", func() bool { return len(r.places) > 0 })
			for _, line := range test.events {
				lines <- line
			}
			await(t, "the last state", func() bool { return version() == test.want })
			before := statusOf(h, "a").Stats.Calls
			h.release()
			await(t, "the calls", func() bool {
				return len(r.places) == 0 && (test.want == "" || statusOf(h, "a").Stats.Calls > before)
			})
			h.Remove(t.Context(), "a")
			if got := strings.Join(versionsOf(t, &tape)[1:], " "); got != test.want {
				t.Errorf("later calls have the versions %q, want %q", got, test.want)
			}
		})
	}
}

// versionsOf returns the versions of the objects of the recorded calls, without those that repeat the last one.
func versionsOf(t *testing.T, recording io.Reader) (versions []string) {
	t.Helper()
	tape, _, err := openTape(recording)
	if err != nil {
		t.Fatal(err)
	}
	for {
		kind, data, err := tape.read()
		switch {
		case err == io.EOF:
			return slices.Compact(versions)
		case err != nil:
			t.Fatal(err)
		case kind != frameExport:
			continue
		}
		var e export
		if err := wire.UnmarshalJSON(data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Name != abi.Reconcile {
			continue
		}
		var in abi.ReconcileRequest
		var object metav1.PartialObjectMetadata
		if err := errors.Join(wire.UnmarshalJSON(e.Message, &in), wire.UnmarshalJSON(in.Object, &object)); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, object.ResourceVersion)
	}
}

// TestReconciledObjectDoesNotOwnItself has a controller of a kind that it also owns.
func TestReconciledObjectDoesNotOwnItself(t *testing.T) {
	bodies := make(chan string, 100)
	server := newPodServer(t, 1, "").withPatches(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	pod := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":%q}}`, name)
	}
	h, _ := runTestHost(t, server, Options{})
	setGuest(t, h, Module{Name: "a", Binary: testGuest{
		describes: describing(fmt.Sprintf(`{"name":"c","for":%s,"owns":[%s]}`, podWatch(""), podWatch(""))),
		response:  `{"apply":[` + pod("p0") + `,` + pod("other") + `]}`,
	}.encode()})
	for _, want := range []bool{false, true} {
		if body := <-bodies; strings.Contains(body, `"ownerReferences":[{`) != want {
			t.Errorf("the applied object is %s, and it has an owner, want one: %v", body, want)
		}
	}
}

// TestModuleThatEndsIsNotCalled has runs whose controller has not ended yet.
func TestModuleThatEndsIsNotCalled(t *testing.T) {
	m := Module{Name: "a"}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(*lifecycle){
		"removed":     func(l *lifecycle) { l.removed(time.Now()) },
		"quarantined": func(l *lifecycle) { l.quarantine(time.Now()) },
	} {
		h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
		g := h.newGuest(m, "")
		r := &reconciler{guest: g, places: make(chan struct{}, 1)}
		end(&g.lifecycle)
		for _, used := range []time.Duration{0, time.Hour} { // of its CPU time
			g.cpu.spend(time.Now(), used)
			_, err := r.reconcile(t.Context(), t.Context(), &abi.Controller{}, nil, nil, wire.Packed{})
			if err != errSkipped || len(h.slots) > 0 {
				t.Errorf("reconcile of a module that is %s = %v, with %d tokens of the host, want %v and none", name, err,
					len(h.slots), errSkipped)
			}
		}
	}
}

// TestRemoveEndsTheWritesOfRuns has a server that does not respond to them.
func TestRemoveEndsTheWritesOfRuns(t *testing.T) {
	var writes atomic.Int64
	server := newPodServer(t, 1, "").withPatches(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the end of the request
		writes.Add(1)
		defer writes.Add(-1)
		<-r.Context().Done()
	})
	h, _ := runTestHost(t, server, Options{})
	setGuest(t, h, Module{Name: "a", Binary: testGuest{
		describes: describing(podController("")),
		response:  `{"apply":[{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x"}}]}`,
	}.encode()})
	await(t, "a write", func() bool { return writes.Load() > 0 })
	begun := time.Now()
	h.Remove(t.Context(), "a")
	if took := time.Since(begun); took > 10*stopTime {
		t.Errorf("Remove has returned after %v, want about %v", took, stopTime)
	}
	await(t, "the end of the write", func() bool { return writes.Load() == 0 })
}

func TestControllerThatBreaksDuringTheStartQuarantinesTheModule(t *testing.T) {
	h, log := newTestHost(t, "http://127.0.0.1:1", Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.closed = true // no turns
	g.broken(errors.New("on purpose"))
	g.lifecycle.started(time.Now())
	if s := g.status(); s.Phase != Quarantined || s.Err == nil {
		t.Errorf("the module is %s with the error %v, want %s", s.Phase, s.Err, Quarantined)
	}
	if !strings.Contains(log.String(), "quarantined") {
		t.Errorf("the log is %q", log)
	}
}

func TestFailureOfARemovedModuleIsNotRecorded(t *testing.T) {
	h, log := newTestHost(t, "http://127.0.0.1:1", Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.lifecycle.removed(time.Now())
	g.fail(errRemoved)
	if s := g.status(); s.Stats.Failures > 0 || s.Failures > 0 || log.String() != "" {
		t.Errorf("the status is %+v, the log %q", s, log)
	}
}

func TestLimitOfLogRecordsIncludesThoseThatAReconcilerCauses(t *testing.T) {
	controllers := describing(podController(""))
	invalid := fmt.Sprintf(`{"type":"bad","reason":"R","message":%q}`, strings.Repeat("x", 1000))
	for name, response := range map[string]string{
		"errors":         fmt.Sprintf(`{"error":%q}`, strings.Repeat("x", 1<<20)),
		"invalid events": `{"events":[` + strings.Repeat(invalid+",", 99) + invalid + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, log := runTestHost(t, newPodServer(t, 40, "").URL, Options{})
			begun := time.Now()
			setGuest(t, h, Module{
				Name: "a", Binary: testGuest{describes: controllers, response: response}.encode(), Limits: Limits{LogsPerSecond: 1},
			})
			await(t, "a dropped record", func() bool { return statusOf(h, "a").Stats.Dropped > 10 })
			records := strings.Split(log.String(), "\n")
			if took := time.Since(begun); len(records) > 30+int(took.Seconds()) {
				t.Errorf("the log has %d records after %v, and the limit is 1 per second after a burst of 10", len(records), took)
			}
			for _, r := range records {
				if len(r) > 2*maxErrorBytes {
					t.Errorf("a log record has %d bytes: %.200s", len(r), r)
				}
			}
		})
	}
}

func TestLongErrorsAreShortened(t *testing.T) {
	for _, n := range []int{1, maxErrorBytes, maxErrorBytes + 1, 1 << 20} {
		text := strings.Repeat("ü", n/2) + "x"[:n%2]
		if got := shorten(errors.New(text)).Error(); len(got) > maxErrorBytes+10 || !utf8.ValidString(got) ||
			n <= maxErrorBytes && got != text {
			t.Errorf("an error of %d bytes becomes one of %d", n, len(got))
		}
	}
}

func TestEventsOfModulesWithLongNamesAreWritten(t *testing.T) {
	s := newPodServer(t, 1, "")
	h, _ := runTestHost(t, s.URL, Options{})
	setGuest(t, h, Module{Name: "apps/" + strings.Repeat("n", 64), Binary: testGuest{
		describes: describing(podController("")), response: `{"events":[{"type":"Normal","reason":"Tested"}]}`,
	}.encode()})
	await(t, "the event", func() bool { return s.count("POST /apis/events.k8s.io/v1/namespaces/a/events") > 0 })
}

func TestReportingControllersAreQualifiedNamesAndDiffer(t *testing.T) {
	long := strings.Repeat("a", 63)
	seen := map[string]bool{}
	for _, module := range []string{"", "a", "ns/a", "ns/" + long, "ns/" + long + "b", long + "bc", "a b", "a-b", "a/b/c", "ü", "_", "-"} {
		name := reporterOf(module)
		if problems := validation.IsQualifiedName(name); len(problems) > 0 || seen[name] {
			t.Errorf("the reporting controller of %q is %q: %q, or another module has it", module, name, problems)
		}
		seen[name] = true
	}
	if got := reporterOf("ns/a"); got != "ns/a" {
		t.Errorf("the reporting controller of ns/a is %q", got)
	}
}

func TestDescriptionsAndResponsesWithManyElementsAreRefused(t *testing.T) {
	controllers := func(n int) string { return `{"controllers":[` + strings.Repeat("{},", n-1) + `{}]}` }
	if _, err := readDescription([]byte(controllers(1000))); err != nil {
		t.Error(err)
	}
	if _, err := readDescription([]byte(controllers(abi.MaxMessage / 3))); err == nil {
		t.Error("a description with a million controllers is accepted")
	}
	many := strings.Repeat("{},", maxChanges-2)
	for response, want := range map[string]bool{
		`{"apply":[` + many + `{}],"delete":[{}],"status":[1]}`:             false,
		`{"apply":[` + many + `{}],"status":{"a":[` + many + many + `{}]}}`: true,
		`{"error":"x","events":[` + many + `{}],"delete":[{}]}`:             true,
		`{"apply":[],"delete":[` + many + `{}],"events":[{},{}]}`:           false,
		`{"apply":[` + many + `{}],"apply":[` + many + `{}]}`:               false,
		`{"apply":[` + many + many + `{}`:                                   false,
		`{"apply":[{}`:                                                      true, // the decoder refuses it
		`{"apply":`:                                                         true,
		`[]`:                                                                true,
		``:                                                                  true,
		`{}`:                                                                true,
		`{"requeueAfterMillis":1,"apply":[{"a":[` + many + many + `{}]}],"x":true}`: true,
	} {
		if err := checkLists([]byte(response)); (err == nil) != want {
			t.Errorf("checkLists(%.60q… of %d bytes) = %v, want success: %v", response, len(response), err, want)
		}
	}
}

func TestShortenedErrorsKeepTheResponseOfTheServer(t *testing.T) {
	long := strings.Repeat("x", 2*maxErrorBytes)
	busy := &core.StatusError{Status: metav1.Status{Code: http.StatusTooManyRequests, Message: long}, RetryAfter: time.Minute}
	for name, err := range map[string]error{
		"a response": fmt.Errorf("apply: %w", busy), "a terminal error": core.Terminal(errors.New(long)),
	} {
		short := shorten(err)
		before, _ := core.RetryAfter(err)
		after, _ := core.RetryAfter(short)
		if len(short.Error()) > maxErrorBytes+10 || after != before || core.IsTerminal(short) != core.IsTerminal(err) {
			t.Errorf("%s became %d bytes, to be retried after %v, terminal: %v", name, len(short.Error()), after,
				core.IsTerminal(short))
		}
	}
}

// TestRunEndsWithItsContext has a guest that waits for a response when the context of its run ends, such as after the
// loss of a permission.
func TestRunEndsWithItsContext(t *testing.T) {
	received := make(chan struct{}, 1)
	var answers atomic.Bool
	server := newPodServer(t, 0, "").withPatches(t, func(_ http.ResponseWriter, r *http.Request) {
		if answers.Load() {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the end of the request
		received <- struct{}{}
		<-r.Context().Done()
	})
	h, _ := newTestHost(t, server, Options{})
	r := newTestReconciler(t, h, patching("x"))
	g := r.guest

	lost := &abi.Error{Code: abi.Forbidden}
	ctx, end := context.WithCancelCause(t.Context())
	go func() {
		<-received
		end(lost)
	}()
	begun := time.Now()
	if out, err := r.ask(ctx, nil); err != error(lost) {
		t.Errorf("ask = %v, %v at the end of its context, want the cause %v", out, err, lost)
	}
	if took := time.Since(begun); took > callTime/2 {
		t.Errorf("the run has ended after %v, as if its context had not ended", took)
	}
	if len(r.idle) != 0 || g.stats.Failures != 0 || g.lifecycle.err != nil || g.budget.inUse() != 0 {
		t.Errorf("%d instances are idle, and the guest has %d failures, the error %v and %d bytes; want none of them",
			len(r.idle), g.stats.Failures, g.lifecycle.err, g.budget.inUse())
	}
	answers.Store(true)
	if out, err := r.ask(t.Context(), nil); err != nil || out.Requeue != 1 || len(r.idle) != 1 {
		t.Errorf("the next run = %+v, %v, with %d idle instances, want a result and one instance", out, err, len(r.idle))
	}
}

// newTestReconciler returns a reconciler of a guest, without controllers. The test has the only token of the host.
func newTestReconciler(t *testing.T, h *Host, guest testGuest) *reconciler {
	t.Helper()
	binary := guest.encode()
	m := Module{Name: "a"}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	g := h.newGuest(m, digestOf(binary))
	g.client = h.client
	var err error
	if g.program, err = h.program(t.Context(), g.digest, binary); err != nil {
		t.Fatal(err)
	}
	h.acquire()
	r := &reconciler{guest: g}
	t.Cleanup(func() {
		for _, i := range r.idle {
			i.end(errRemoved)
		}
		h.release()
		h.leave(context.Background(), g.digest, g.program)
		if err := h.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestInstancesThatTrapWhileTheyAreInitializedQuarantine has a module that has started, whose later instances trap.
func TestInstancesThatTrapWhileTheyAreInitializedQuarantine(t *testing.T) {
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	const unreachable, end = 0x00, 0x0b
	r := newTestReconciler(t, h, testGuest{describes: describing(), initialize: []byte{0, unreachable, end}})
	g := r.guest
	g.closed = true // no turns
	g.lifecycle.started(time.Now())
	for n := 1; n <= h.options.MaxFailures; n++ {
		if _, err := r.ask(t.Context(), nil); err == nil {
			t.Fatal("the call has succeeded")
		}
		if s := g.status(); s.Failures != n || s.Stats.Failures != uint64(n) || s.Err == nil {
			t.Fatalf("after %d traps, the status is %+v", n, s)
		}
	}
	if s := g.status(); s.Phase != Quarantined {
		t.Errorf("the module is %s, want %s", s.Phase, Quarantined)
	}
	g.stop(errRemoved)
	if _, err := r.ask(t.Context(), nil); !errors.Is(err, errRemoved) || g.status().Failures != h.options.MaxFailures {
		t.Errorf("a call of a removed module = %v, with %d failures, want %v and no further one", err, g.status().Failures,
			errRemoved)
	}
}

// TestAppliedObjectHasAnOwnerThatServersKeep has objects that servers would delete, because their owner is in another
// namespace.
func TestAppliedObjectHasAnOwnerThatServersKeep(t *testing.T) {
	server := newPodServer(t, 0, "")
	h, _ := newTestHost(t, server.URL, Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.client = h.client
	node := abi.Watch{Version: "v1", Kind: "Node", Resource: "nodes"}
	pod := abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	c := &abi.Controller{For: pod, Owns: []abi.Watch{pod, node}}
	g.description.Controllers = []abi.Controller{*c}
	r := &reconciler{guest: g}
	owner := podOf(t, `{"metadata":{"namespace":"apps","name":"web","uid":"1"}}`)
	for _, object := range []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"other","name":"x"}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"}}`,
	} {
		err := r.apply(t.Context(), c, owner, []byte(object), &request.ApplyOptions{FieldManager: "a"})
		if err == nil || !strings.Contains(err.Error(), "apps/web") {
			t.Errorf("apply of %s = %v, want an error about its owner", object, err)
		}
	}
	if len(server.received) > 0 {
		t.Errorf("the server has received %v", server.received)
	}
}

// TestResourceThatIsNotServedAnyMoreIsDiscoveredAgain has a definition that gets another plural.
func TestResourceThatIsNotServedAnyMoreIsDiscoveredAgain(t *testing.T) {
	server := newKindServer(t, "Thing")
	h, _ := newTestHost(t, server.URL, Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.client = h.client
	r := &reconciler{guest: g, resources: make(map[schema.GroupVersionKind]core.Resource)}
	object := `{"apiVersion":"v1","kind":"Thing","metadata":{"namespace":"a","name":"x"}}`
	ref := abi.Reference{APIVersion: "v1", Kind: "Thing", Namespace: "a", Name: "x"}
	for name, out := range map[string]*abi.ReconcileResponse{
		"apply":  {Apply: []jsontext.Value{jsontext.Value(object)}},
		"delete": {Delete: []abi.Reference{ref}},
	} {
		perform := func() error {
			return r.perform(t.Context(), &abi.Controller{}, podOf(t, `{"metadata":{"name":"x"}}`), out)
		}
		server.plural.Store(new("things"))
		if err := perform(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server.plural.Store(new("objects"))
		if _, ok := errors.AsType[*client.NotServedError](perform()); !ok {
			t.Errorf("%s of a resource that is not served has succeeded", name)
		}
		if err := perform(); err != nil {
			t.Errorf("%s after that: %v", name, err)
		}
		clear(r.resources)
	}
}

// TestReconcilerOverItsCacheLimitWaits has objects that another module watches, so that they exceed the limit before
// all watches of the controller have begun.
func TestReconcilerOverItsCacheLimitWaits(t *testing.T) {
	s := newPodServer(t, 1, `,"annotations":{"x":"`+strings.Repeat("x", 10_000)+`"}`)
	h, _ := runTestHost(t, s.URL, Options{})
	setGuest(t, h, Module{
		Name: "other", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode(),
	})
	await(t, "a call", func() bool { return statusOf(h, "other").Stats.Calls > 1 })
	owns := `,"owns":[{"version":"v1","kind":"ConfigMap","resource":"configmaps","namespaced":true}]`
	controller := fmt.Sprintf(`{"name":"c","for":%s%s}`, podWatch(""), owns)
	setGuest(t, h, Module{
		Name: "a", Binary: testGuest{describes: describing(controller)}.encode(), Limits: Limits{CacheBytes: 1000},
	})
	await(t, "an error", func() bool { return statusOf(h, "a").Err != nil })
	await(t, "the end of the start", func() bool { return statusOf(h, "a").Phase != Starting })
	if s := statusOf(h, "a"); s.Phase != Running || codeOf(s.Err) != abi.OverLimit {
		t.Errorf("the module is %s with the error %v, want %s and OverLimit", s.Phase, s.Err, Running)
	}
}

// TestNullStatusIsMissing has the response of a guest whose encoder writes null for a missing field.
func TestNullStatusIsMissing(t *testing.T) {
	const response = `{"error":null,"requeueAfterMillis":null,"apply":null,"delete":null,"status": null ,"events":null}`
	server := newPodServer(t, 0, "")
	h, _ := newTestHost(t, server.URL, Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.client = h.client
	obj := podOf(t, `{"metadata":{"name":"x"}}`)
	var out abi.ReconcileResponse
	if err := errors.Join(checkLists([]byte(response)), wire.UnmarshalJSON([]byte(response), &out)); err != nil {
		t.Fatal(err)
	}
	c := &abi.Controller{For: abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}}
	err := (&reconciler{guest: g}).perform(t.Context(), c, obj, &out)
	if err != nil || out.Error != "" || out.Requeue != 0 || len(server.received) > 0 {
		t.Errorf("perform of %+v = %v, and the server has received %v, want no request", out, err, server.received)
	}
	p := newPermissions()
	p.addReconcile(&step{export: export{Message: []byte(`{"object":{"apiVersion":"v1","kind":"Pod"}}`)}, result: []byte(response)})
	if verbs := p.used[schema.GroupResource{Resource: "pods/status"}]; len(verbs) > 0 {
		t.Errorf("the permissions for the status are %v, want none", verbs)
	}
}

// TestControllerThatMayNotWatchIsBlocked has a server that refuses the watch of the host at first.
func TestControllerThatMayNotWatchIsBlocked(t *testing.T) {
	pods := newPodServer(t, 1, "")
	var allowed atomic.Bool
	h, _ := runTestHost(t, pods.withPermission(t, &allowed), Options{})
	setGuest(t, h, Module{Name: "a", Binary: testGuest{describes: describing(podController("")), response: `{}`}.encode()})
	await(t, "the refusal", func() bool { return statusOf(h, "a").Blocked != nil })
	if s := statusOf(h, "a"); s.Phase != Running || !strings.Contains(s.Blocked.Error(), "the host may not list and watch") ||
		strings.Contains(s.Blocked.Error(), "admin") {
		t.Errorf("the status is %+v", s)
	}
	allowed.Store(true)
	await(t, "a run", func() bool { s := statusOf(h, "a"); return s.Stats.Calls > 1 && s.Blocked == nil })
}

// TestControllerIsBlockedUntilItsObjectsAreReady has a controller that was blocked before, and tries again.
func TestControllerIsBlockedUntilItsObjectsAreReady(t *testing.T) {
	var allowed atomic.Bool
	h, _ := newTestHost(t, newPodServer(t, 1, "").withPermission(t, &allowed), Options{})
	m := Module{Name: "a"}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	for _, allow := range []bool{false, true} {
		allowed.Store(allow)
		g := h.newGuest(m, "")
		g.client = h.client
		ctx, stop := context.WithCancel(t.Context())
		r := &reconciler{guest: g, stop: stop}
		in, err := r.input(&abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true})
		if err != nil {
			t.Fatal(err)
		}
		block := func(err error) { g.block(0, "c", err) }
		block(errors.New("the attempt before"))
		ended := make(chan error)
		go func() { ended <- r.guarded(ctx, block, []input{in}, in.Run) }()
		if allow {
			await(t, "the end of the block", func() bool { return g.status().Blocked == nil })
			stop()
		}
		err = <-ended
		r.end(err)
		if blocked := g.status().Blocked; (blocked == nil) != allow {
			t.Errorf("allowed %v: the attempt has ended with %v, and the block is %v", allow, err, blocked)
		}
	}
}

// TestControllersWithTheSameNameAreBlockedSeparately has a module with two controllers of one name. One of them may not
// watch, and the other one runs after that was found.
func TestControllersWithTheSameNameAreBlockedSeparately(t *testing.T) {
	s, hold := newPodServer(t, 1, ""), make(chan struct{})
	server := s.with(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/pods" {
			refusePods(w, r)
			return
		}
		select {
		case <-hold:
			s.Config.Handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/pods") })
	h, _ := runTestHost(t, server, Options{})
	description := describing(podController(`,"namespace":"refused"`), podController(""))
	setGuest(t, h, Module{
		Name: "a", Binary: testGuest{describes: description, response: `{"requeueAfterMillis":10}`}.encode(),
	})
	await(t, "the block", func() bool { return statusOf(h, "a").Blocked != nil })
	before := statusOf(h, "a").Stats.Calls
	close(hold)
	await(t, "runs", func() bool { return statusOf(h, "a").Stats.Calls > before+10 })
	if blocked := statusOf(h, "a").Blocked; blocked == nil || !strings.Contains(blocked.Error(), "in namespace refused") {
		t.Errorf("the block is %v, want that of the controller that does not run", blocked)
	}
}
