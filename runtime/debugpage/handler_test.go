// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package debugpage_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/debugpage"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/metrics"
)

// began is the time of the tests in a bubble.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// program is parts with fixed values. It counts how often it is inspected.
type program struct {
	inspected int
	runs      []controller.RunHealth
	in        controller.Inspection
	positions []fsm.Position
	overview  *fsm.Overview // or nil, for a state with a transition
}

func (p *program) Metrics() controller.Metrics {
	return controller.Metrics{
		Name: "docs", Workers: 8, Succeeded: 5, RequeuedNow: 1, RequeuedLater: 2, Failed: 3,
		Applier: applier.Stats{Ready: 4, Running: 2, Held: 1, Delayed: 6, OldestWait: time.Second},
	}
}

func (p *program) Health() []controller.SourceHealth {
	return []controller.SourceHealth{{Cluster: "east", Resource: pods, Err: errors.New("forbidden")}}
}

func (p *program) Runs() []controller.RunHealth { return p.runs }

func (p *program) Inspect(int) controller.Inspection {
	p.inspected++
	return p.in
}

func (p *program) Caches() []*cache.Cache { return nil }

func (p *program) Owners() []any { return []any{p} }

func (p *program) Overview() *fsm.Overview {
	if p.overview != nil {
		return p.overview
	}
	return &fsm.Overview{
		Name:   "example.com/database",
		States: []fsm.StateOverview{{GraphState: fsm.GraphState{Name: "Serve", Initial: true}, Objects: len(p.positions)}},
		Transitions: []fsm.TransitionOverview{
			{GraphTransition: fsm.GraphTransition{From: "Serve", To: "Serve"}, Taken: 7},
		},
	}
}

func (p *program) Positions() iter.Seq[fsm.Position] {
	return func(yield func(fsm.Position) bool) {
		for _, pos := range p.positions {
			if !yield(pos) {
				return
			}
		}
	}
}

var pods = core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

func key(name string) controller.Key {
	return controller.Key{Ref: core.ObjectRef{Namespace: "prod", Name: name}}
}

// serve returns a page about a program.
func serve(t *testing.T, p *program) *debugpage.Handler {
	t.Helper()
	r := metrics.NewRegistry()
	if err := r.AddController(p); err != nil {
		t.Fatal(err)
	}
	e := election.New(nil, &election.Options{Namespace: "prod", Name: "shop", Identity: "me"})
	if err := r.AddElector(e); err != nil {
		t.Fatal(err)
	}
	return debugpage.New(r)
}

// get returns a response of the handler.
func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w
}

// TestDocumentHasTheValues checks the values of each part, and that HTML is escaped.
func TestDocumentHasTheValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{
			runs: []controller.RunHealth{{Key: key("a"), Age: time.Second, Cause: controller.Cause{Type: "retry"}}},
			in: controller.Inspection{
				Queue:       []applier.Level{{Priority: applier.High, Keys: 1}, {Priority: 50, Keys: 2}, {Priority: applier.Low, Keys: 3}},
				FailingKeys: 9,
				Failing: []controller.FailingKey{
					{Key: key("b"), Err: "<script>", Failures: 2, Last: began, Next: began.Add(time.Second)},
					{Key: key("c"), Err: "terminal", Failures: 1, Last: began},
				},
				Held: []controller.HeldKey{
					{Key: key("d"), Writes: 2, Source: pods, Object: core.ObjectRef{Namespace: "prod", Name: "e"}, Left: time.Second},
				},
			},
			positions: []fsm.Position{
				{Key: key("done"), State: "Serve", Since: began, Done: true},
				{Key: key("waits"), State: "Serve", Since: began, Reason: "no disk"},
				{Key: key("fails"), State: "Serve", Since: began, Failing: true, Suspended: true},
				{Key: key("stuck"), State: "Serve", Since: began, Stuck: true, Visits: 3},
				{Key: key("over"), State: "Serve", Since: began, Failed: true, Reason: "no quota"},
				{Key: key("idle"), State: "Serve", Since: began, Idle: true},
				{Key: key("lost"), State: ""},
			},
		}
		h := serve(t, p)
		h.AddTable(func() debugpage.Table {
			return debugpage.Table{Title: "Shards", Columns: []string{"shard", "keys"}, Rows: [][]string{{"a", "1"}}}
		})
		w := get(t, h, "/debug/controllers/data")
		if strings.Contains(w.Body.String(), "<") {
			t.Error("the document has an unescaped <")
		}
		var got, want any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		const document = `{
			"time": 946684800000,
			"controllers": [{
				"name": "docs", "workers": 8, "waiting": 4, "running": 2, "delayed": 6, "heldKeys": 1, "failingKeys": 9,
				"mapping": 0, "oldestWait": 1000, "succeeded": 5, "requeued": 3, "failed": 3, "panics": 0, "timeouts": 0,
				"queue": [{"priority": "high", "keys": 1}, {"priority": "normal", "keys": 2}, {"priority": "low", "keys": 3}],
				"runs": [{"key": "prod/a", "age": 1000, "cause": "retry", "error": ""}],
				"failing": [
					{"key": "prod/b", "error": "<script>", "failures": 2, "last": 946684800000, "next": 946684801000},
					{"key": "prod/c", "error": "terminal", "failures": 1, "last": 946684800000, "next": 0}
				],
				"held": [{"key": "prod/d", "writes": 2, "first": "pods prod/e", "left": 1000}],
				"sources": [{"cluster": "east", "resource": "pods", "ready": false, "error": "forbidden"}]
			}],
			"watches": null, "moreWatches": 0,
			"electors": [{
				"lease": "prod/shop", "identity": "me", "leading": false, "leader": "", "transitions": 0, "error": ""
			}],
			"machines": [{
				"name": "example.com/database",
				"states": [{
					"name": "Serve", "initial": true, "terminal": false, "deletes": false, "group": "", "objects": 7,
					"failed": 0, "failing": 0, "stuck": 0, "suspended": 0, "oldest": 0, "failures": 0, "restarts": 0,
					"in": [
						{"key": "prod/stuck", "since": 946684800000, "flags": "stuck", "visits": 3, "reason": ""},
						{"key": "prod/fails", "since": 946684800000, "flags": "failing, suspended", "visits": 0, "reason": ""},
						{"key": "prod/over", "since": 946684800000, "flags": "failed", "visits": 0, "reason": "no quota"},
						{"key": "prod/waits", "since": 946684800000, "flags": "", "visits": 0, "reason": "no disk"},
						{"key": "prod/done", "since": 946684800000, "flags": "done", "visits": 0, "reason": ""},
						{"key": "prod/idle", "since": 946684800000, "flags": "idle", "visits": 0, "reason": ""}
					]
				}],
				"transitions": [{"from": "Serve", "to": "Serve", "taken": 7}]
			}],
			"tables": [{"title": "Shards", "columns": ["shard", "keys"], "rows": [["a", "1"]], "more": 0}]
		}`
		if err := json.Unmarshal([]byte(document), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the document (-want +got):\n%s", diff)
		}

		for range 10 { // as from other tabs
			get(t, h, "/debug/controllers/data")
		}
		if p.inspected != 1 {
			t.Errorf("the program was inspected %d times at once", p.inspected)
		}
		time.Sleep(time.Second)
		get(t, h, "/debug/controllers/data")
		if p.inspected != 2 {
			t.Errorf("the program was inspected %d times within a second", p.inspected)
		}
	})
}

// TestAMachineHasLists checks that the document has lists for a machine without transitions, or without states: the
// page would stay empty otherwise.
func TestAMachineHasLists(t *testing.T) {
	serves := []fsm.StateOverview{{GraphState: fsm.GraphState{Name: "Serve"}}}
	for _, o := range []*fsm.Overview{{Name: "one state", States: serves}, {Name: "no states"}} {
		var got struct {
			Machines []struct{ States, Transitions json.RawMessage }
		}
		if err := json.Unmarshal(get(t, serve(t, &program{overview: o}), "/data").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if m := got.Machines[0]; m.States[0] != '[' || m.Transitions[0] != '[' {
			t.Errorf("the machine with %s has the states %s and the transitions %s", o.Name, m.States, m.Transitions)
		}
	}
}

// TestDocumentIsBounded checks the number of objects, rows and bytes.
func TestDocumentIsBounded(t *testing.T) {
	p, long := &program{}, strings.Repeat("ä", 10_000)
	for i := range 10_000 {
		p.positions = append(p.positions, fsm.Position{
			Key: key(fmt.Sprint(i)), State: "Serve", Since: began.Add(-time.Duration(i) * time.Second), Stuck: i == 0,
			Idle: i >= 5000,
		})
	}
	p.in.Failing = []controller.FailingKey{{Key: key("a"), Err: long}}
	h := serve(t, p)
	h.AddTable(func() debugpage.Table {
		return debugpage.Table{Title: long, Columns: []string{long}, Rows: make([][]string, 10_000)}
	})
	var got struct {
		Controllers []struct{ Failing []struct{ Error string } }
		Machines    []struct {
			States []struct{ In []struct{ Key string } }
		}
		Tables []struct {
			Title string
			Rows  [][]string
			More  int
		}
	}
	if err := json.Unmarshal(get(t, h, "/data").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	in := got.Machines[0].States[0].In
	if len(in) != 20 || in[0].Key != "prod/0" || in[1].Key != "prod/4999" || in[19].Key != "prod/4981" {
		t.Errorf("the objects are %v, want the stuck one and the oldest ones that are not idle", in)
	}
	if e := got.Controllers[0].Failing[0].Error; len(e) > 500 || !strings.HasSuffix(e, "ä…") {
		t.Errorf("the error has %d bytes", len(e))
	}
	if tb := got.Tables[0]; len(tb.Title) > 500 || len(tb.Rows) != 500 || tb.More != 9500 {
		t.Errorf("the table has a title of %d bytes, %d rows and %d more", len(tb.Title), len(tb.Rows), tb.More)
	}
}

// TestPageHasNoForeignParts checks that the page has one script and one style, whose hashes are those of its policy,
// and that it names no other host.
func TestPageHasNoForeignParts(t *testing.T) {
	w := get(t, serve(t, &program{}), "/debug/controllers")
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	for _, element := range []string{"script", "style"} {
		if n := strings.Count(page, "<"+element); n != 1 {
			t.Errorf("the page has %d elements %s", n, element)
		}
		_, content, _ := strings.Cut(page, "<"+element+">")
		content, _, _ = strings.Cut(content, "</"+element+">")
		sum := sha256.Sum256([]byte(content))
		want := element + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q does not have %q", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; connect-src 'self';") {
		t.Errorf("the policy is %q", policy)
	}
	for _, word := range []string{"innerHTML", "insertAdjacent", "outerHTML", "eval(", "document.write", "https:"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
	if n := strings.Count(page, "http:"); n != 1 { // the namespace of SVG
		t.Errorf("the page has %d URLs", n)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestOtherHostNamesAreRefusedOnLoopback checks that a web site whose name resolves to a loopback address gets nothing.
func TestOtherHostNamesAreRefusedOnLoopback(t *testing.T) {
	h := serve(t, &program{})
	for _, tt := range []struct {
		local, host string
		want        int
	}{
		{"127.0.0.1:8082", "localhost:8082", 200},
		{"127.0.0.1:8082", "127.0.0.1:8082", 200},
		{"127.0.0.1:8082", "pages.localhost:8082", 200},
		{"[::1]:8082", "[::1]:8082", 200},
		{"[::1]:8082", "localhost", 200},
		{"127.0.0.1:8082", "evil.example.com:8082", 403},
		{"127.0.0.1:8082", "evil.example.com", 403},
		{"[::1]:8082", "evil.example.com:8082", 403},
		{"127.0.0.1:8082", "notlocalhost", 403},
		{"127.0.0.1:8082", "", 403},
		{"10.0.0.7:8082", "debug.prod.svc:8082", 200},
	} {
		local, err := net.ResolveTCPAddr("tcp", tt.local)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/debug/controllers", "/debug/controllers/data"} {
			r := httptest.NewRequestWithContext(
				context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(local)), http.MethodGet, path, http.NoBody)
			r.Host = tt.host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("%s for the host %q at %s: %d, want %d", path, tt.host, tt.local, w.Code, tt.want)
			}
		}
	}
}

func ExampleNew() {
	registry := metrics.NewRegistry() // with the controllers of the program
	page := debugpage.New(registry)
	mux := http.NewServeMux()
	mux.Handle("GET /debug/controllers", page)
	mux.Handle("GET /debug/controllers/data", page)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/debug/controllers", http.NoBody))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}

// BenchmarkDocument reports the cost of a document about a machine with many objects.
func BenchmarkDocument(b *testing.B) {
	p := &program{}
	for i := range 100_000 {
		p.positions = append(p.positions, fsm.Position{
			Key: key(fmt.Sprint(i)), State: "Serve", Since: began.Add(time.Duration(i%1000) * time.Second), Done: i%10 > 0,
		})
	}
	r := metrics.NewRegistry()
	if err := r.AddController(p); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		debugpage.New(r).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(
			b.Context(), http.MethodGet, "/debug/controllers/data", http.NoBody))
	}
}
