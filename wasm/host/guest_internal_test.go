// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// testGuest is a reconciler, which a test encodes as a module. It returns the same response for each object.
type testGuest struct {
	describes  string
	response   string
	initialize []byte // the locals and the code of _initialize; nil for none
	calls      []byte // the message of a request, for which it waits before it returns; nil for none
}

// encode returns the module.
func (g testGuest) encode() []byte {
	const i32, i64, constI32, constI64, end, invoke, drop = 0x7f, 0x7e, 0x41, 0x42, 0x0b, 0x10, 0x1a
	const describesAt = 1024
	responseAt := describesAt + len(g.describes) + 8
	callsAt := responseAt + len(g.response) + 8
	allocAt := callsAt + len(g.calls) + 8
	pages := (allocAt+abi.MaxMessage)/65536 + 2
	constant := func(op byte, v int64) []byte { return slices.Concat([]byte{op}, wasmtest.Signed(v), []byte{end}) }
	message := func(at int, text string) []byte {
		return append([]byte{0}, constant(constI64, int64(at)<<32|int64(len(text)))...)
	}
	segment := func(at int, text string) []byte {
		return slices.Concat([]byte{0}, constant(constI32, int64(at)), wasmtest.Sized([]byte(text)))
	}
	function := func(in, out []byte) []byte {
		return slices.Concat([]byte{0x60}, wasmtest.Sized(in), wasmtest.Sized(out))
	}
	var imports []byte
	var imported byte
	reconcile := message(responseAt, g.response)
	if g.calls != nil {
		imported = 1
		name := slices.Concat(wasmtest.Sized([]byte(abi.Module)), wasmtest.Sized([]byte(abi.Call)))
		imports = wasmtest.Vector(append(name, 0, 4))
		code := []byte{0}
		for _, n := range []int{int(abi.OpRequest), callsAt, len(g.calls), allocAt, abi.MaxMessage} {
			code = slices.Concat(code, []byte{constI32}, wasmtest.Signed(int64(n)))
		}
		reconcile = append(append(code, invoke, 0, drop), reconcile[1:]...)
	}
	export := func(name string, kind, n byte) []byte { return append(wasmtest.Sized([]byte(name)), kind, n) }
	exported := func(name string, n byte) []byte { return export(name, 0, imported+n) }
	initialize := g.initialize
	if initialize == nil {
		initialize = []byte{0, end}
	}
	sections := [][]byte{
		1: wasmtest.Vector(function(nil, nil), function(nil, []byte{i64}), function([]byte{i32}, []byte{i32}),
			function([]byte{i32, i32}, []byte{i64}), function([]byte{i32, i32, i32, i32, i32}, []byte{i64})),
		2: imports,
		3: wasmtest.Vector([]byte{0}, []byte{1}, []byte{2}, []byte{3}),
		5: slices.Concat([]byte{1, 0}, binary.AppendUvarint(nil, uint64(pages))),
		7: wasmtest.Vector(export("memory", 2, 0), exported("_initialize", 0), exported(abi.Describe, 1),
			exported(abi.Alloc, 2), exported(abi.Reconcile, 3)),
		10: wasmtest.Vector(wasmtest.Sized(initialize), wasmtest.Sized(message(describesAt, g.describes)),
			wasmtest.Sized(append([]byte{0}, constant(constI32, int64(allocAt))...)), wasmtest.Sized(reconcile)),
		11: wasmtest.Vector(segment(describesAt, g.describes), segment(responseAt, g.response),
			segment(callsAt, string(g.calls))),
	}
	return wasmtest.Module(sections)
}

// slow is the code of a function whose compilation takes some tenths of a second.
func slow() []byte {
	code := []byte{1, 20, 0x7f}
	for range 5000 {
		code = append(code, 0x20, 0, 0x04, 0x40, 0x0b) // local.get 0, if, end
	}
	for n := range byte(20) {
		code = append(code, 0x20, n, 0x1a) // local.get n, drop
	}
	return append(code, 0x0b)
}

// podWatch is a watch of pods in JSON, with further fields.
func podWatch(fields string) string {
	return `{"version":"v1","kind":"Pod","resource":"pods","namespaced":true` + fields + `}`
}

// podController is a controller of pods in JSON. Its watch has further fields.
func podController(fields string) string {
	return fmt.Sprintf(`{"name":"c","for":%s}`, podWatch(fields))
}

// describing returns the description of a reconciler.
func describing(controllers ...string) string {
	return `{"abi":"kube_v1","profile":"reconciler","controllers":[` + strings.Join(controllers, ",") + `]}`
}

// initialEventsEnd is the event after the existing objects of a watch.
const initialEventsEnd = `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"1",` +
	`"annotations":{"k8s.io/initial-events-end":"true"}}}}`

// podServer is a server that has pods, whose metadata have further fields, and that accepts events.
type podServer struct {
	*httptest.Server

	mu       sync.Mutex // guards received
	received map[string]int
}

func newPodServer(t *testing.T, pods int, fields string) *podServer {
	s := &podServer{received: make(map[string]int)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.received[r.Method+" "+r.URL.Path]++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/v1/pods":
			for n := range pods {
				_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a",`+
					`"name":"p%d","uid":"u%d","resourceVersion":"1"%s}}}`+"\n", n, n, fields)
			}
			_, _ = fmt.Fprintln(w, initialEventsEnd)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprint(w, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"x","namespace":"a"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// withPatches returns the address of a server that is s, but calls a handler for patches.
func (s *podServer) withPatches(t *testing.T, patch http.HandlerFunc) string {
	return s.with(t, patch, func(r *http.Request) bool { return r.Method == http.MethodPatch })
}

// withPermission returns the address of a server that is s, but refuses its pods while allowed is false.
func (s *podServer) withPermission(t *testing.T, allowed *atomic.Bool) string {
	return s.with(t, refusePods, func(r *http.Request) bool { return r.URL.Path == "/api/v1/pods" && !allowed.Load() })
}

func refusePods(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden",`+
		`"message":"User admin may not list pods"}`)
}

// withPermissionUntil returns the address of a server that is s, but ends its watches of pods with ctx, and refuses
// further ones.
func (s *podServer) withPermissionUntil(ctx context.Context, t *testing.T) string {
	return s.with(t, func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			refusePods(w, r)
			return
		}
		both, stop := context.WithCancel(r.Context())
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		s.Config.Handler.ServeHTTP(w, r.WithContext(both))
	}, func(r *http.Request) bool { return r.URL.Path == "/api/v1/pods" })
}

// with returns the address of a server that is s, but calls a handler for some requests.
func (s *podServer) with(t *testing.T, handle http.HandlerFunc, some func(*http.Request) bool) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if some(r) {
			handle(w, r)
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// count returns the number of requests with a method and a path.
func (s *podServer) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received[request]
}

// testLog keeps the log of a host.
type testLog struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newTestHost returns a host that does not run, and its log.
func newTestHost(t *testing.T, server string, o Options) (*Host, *testLog) {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server}})
	if err != nil {
		t.Fatal(err)
	}
	log := &testLog{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	h, err := New(t.Context(), c, &o)
	if err != nil {
		t.Fatal(err)
	}
	return h, log
}

// runTestHost returns a host that runs until the end of the test, and its log.
func runTestHost(t *testing.T, server string, o Options) (*Host, *testLog) {
	t.Helper()
	h, log := newTestHost(t, server, o)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx) // it returns the end of its context
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the host does not end")
		}
	})
	return h, log
}

// setGuest sets a module of a host.
func setGuest(t *testing.T, h *Host, m Module) {
	t.Helper()
	if err := h.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// statusOf returns the status of a module.
func statusOf(h *Host, name string) Status {
	for _, s := range h.Status() {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

// TestCanceledOperationsDoNotStay has a guest that submits operations and cancels them in one call.
func TestCanceledOperationsDoNotStay(t *testing.T) {
	i := newTestInstance(t, Limits{})
	g := i.guest
	g.closed = true // no turns
	i.open, g.description.Profile = true, abi.ProfileActor
	for range 500 {
		for range 20 {
			if _, err := i.submit(abi.OpDelay, marshal(abi.Delay{}), 0); err != nil {
				t.Fatal(err)
			}
		}
		for id, op := range i.operations {
			await(t, "the end of a delay", func() bool { return op.waiting() > 0 })
			i.cancel(id)
		}
		g.mu.Lock()
		n := len(g.items)
		g.mu.Unlock()
		if n >= 200 {
			t.Fatalf("the guest has %d operations with items, but no operation exists", n)
		}
	}
	id, err := i.submit(abi.OpDelay, marshal(abi.Delay{}), 0)
	if err != nil {
		t.Fatal(err)
	}
	op := i.operations[id]
	await(t, "the end of a delay", func() bool { return op.waiting() > 0 })
	for range 100 { // more operations are removed meanwhile
		g.ready(&operation{})
		g.items[len(g.items)-1].drop()
	}
	if !slices.Contains(g.items, op) {
		t.Error("an operation with an item was removed")
	}
}

// await waits until done returns true. It limits the number of calls and not the time, so that a machine that stops for
// a while does not matter.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 60_000 {
		if done() {
			return
		}
		<-time.After(time.Millisecond)
	}
	t.Fatalf("%s does not happen", what)
}
