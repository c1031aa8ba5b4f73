// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/wait"
)

// Scenario is an object with a machine, from its creation until the machine has nothing more to do.
type Scenario[K any] struct {
	// Connect returns a client of the server with a middleware, for [client.Options].PerAttempt. Required.
	Connect func(m middleware.Func) (*client.Client, error)

	// Machine returns the machine. It is called for each start of the program. Required.
	Machine func(c *client.Client) *fsm.Machine[K]

	// Create creates the object on the server and returns it. Each call must use a new namespace or other names, and must
	// not depend on the calls before. Required.
	Create func(t testing.TB, c *client.Client) *K

	// Between is called after each pass that has returned, such as to do what other controllers do on a real cluster, to
	// change the spec or to delete the object. Default: nothing.
	Between func(t testing.TB, c *client.Client, obj *K)

	// Done reports whether the machine has nothing more to do; obj is nil if it has been deleted. Default: the object has
	// the condition Ready or Stalled, see [fsm.Failed], or has been deleted.
	Done func(obj *K) bool

	// Final returns what must be the same with and without a crash, such as the declared objects without their UIDs and
	// times. Names that depend on the namespace must not be in it. Default: nothing.
	Final func(t testing.TB, c *client.Client, obj *K) string

	// Path returns the path of a create or delete without what differs from run to run, such as a time in the name of an
	// object. The namespace and the name of the object are replaced before. Default: the whole path.
	Path func(path string) string

	// Stale makes each new program begin with a pass for the object as it was at the last pass of the killed program,
	// as a new leader does whose cache is behind. Default: it begins with the current object.
	Stale bool

	// Timeout is the maximum time of one run of the scenario. Default: one minute.
	Timeout time.Duration
}

// errKilled is the error of the requests of a killed program.
var errKilled = errors.New("fsmtest: the program was killed")

// Crash runs the scenario once without a crash, and then once for each request of that run and each of two crashes:
// right before the request is sent, and right after the server has processed it. After a crash, all requests of the
// program fail and its context ends; then a new machine continues.
//
// The test fails if a run does not end, if its final state differs, or if its successful creates and deletes differ: a
// machine that creates an object twice and deletes one of the two has the same final state.
func Crash[K any, P core.ObjectPtr[K]](t testing.TB, s Scenario[K]) {
	t.Helper()
	if s.Connect == nil || s.Machine == nil || s.Create == nil {
		t.Fatal("fsmtest: Connect, Machine and Create are required")
	}
	if s.Done == nil {
		s.Done = ready[K]
	}
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	want := run[K, P](t, &s, 0, false)
	if want.requests == 0 {
		t.Fatal("fsmtest: the scenario sends no requests")
	}
	t.Logf("the scenario sends %d requests, with the creates and deletes %v", want.requests, want.writes)
	for n := 1; n <= want.requests; n++ {
		for _, sent := range []bool{false, true} {
			got := run[K, P](t, &s, n, sent)
			when := "before"
			if sent {
				when = "after"
			}
			if got.final != want.final {
				t.Errorf("killed %s request %d, %s: the final state is\n%s\nwant\n%s", when, n, got.killed, got.final, want.final)
			}
			if !maps.Equal(got.writes, want.writes) {
				t.Errorf("killed %s request %d, %s: the creates and deletes are %v, want %v", when, n, got.killed, got.writes, want.writes)
			}
		}
	}
}

// ready is the default of Scenario.Done.
func ready[K any](obj *K) bool {
	is := func(typ string) bool { return wait.StatusCondition[K](typ, metav1.ConditionTrue)(obj) == nil }
	return obj == nil || is("Ready") || is("Stalled")
}

// result is the result of a run.
type result struct {
	requests int
	killed   string // the request at which it was killed
	writes   map[string]int
	final    string
}

// run runs the scenario, and kills the program at the request with the number kill, unless that is 0.
func run[K any, P core.ObjectPtr[K]](t testing.TB, s *Scenario[K], kill int, sent bool) result {
	t.Helper()
	outside, err := s.Connect(func(next http.RoundTripper) http.RoundTripper { return next })
	if err != nil {
		t.Fatal(err)
	}
	obj := s.Create(t, outside)
	p := P(obj)
	ctx, cancel := context.WithTimeoutCause(t.Context(), s.Timeout, errors.New("fsmtest: the scenario does not end"))
	defer cancel()
	api := client.ClusterWide[K, P](outside)
	if ns := p.GetNamespace(); ns != "" {
		api = api.In(ns)
	}
	r := &recorder{
		kill: kill, sent: sent, namespace: p.GetNamespace(), name: p.GetName(), path: s.Path, writes: make(map[string]int),
	}
	var m *fsm.Machine[K]
	var program context.Context
	var last *K // the object at the last pass, if the next one is for it again
	name := p.GetName()
	for {
		if m == nil {
			var die context.CancelCauseFunc
			program, die = context.WithCancelCause(ctx)
			defer die(nil)
			r.start(func() { die(errKilled) })
			c, err := s.Connect(r.middleware)
			if err != nil {
				t.Fatal(err)
			}
			m = s.Machine(c)
		}
		obj, err = api.GetOrNil(ctx, name, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case s.Done(obj):
			got := result{requests: r.requests, killed: r.killed, writes: r.writes}
			if s.Final != nil {
				got.final = s.Final(t, outside, obj)
			}
			return got
		}
		if last != nil { // its pass may fail, since the object has changed
			_, _ = m.Reconcile(program, last)
			last = nil
			continue
		}
		before, err := copyOf[K, P](obj)
		if err != nil {
			t.Fatal(err)
		}
		action, err := m.Reconcile(program, obj)
		if program.Err() != nil && ctx.Err() == nil {
			m = nil
			if s.Stale {
				last = before
			}
			continue
		}
		if s.Between != nil {
			if obj, err := api.GetOrNil(ctx, name, nil); err != nil {
				t.Fatal(err)
			} else if obj != nil {
				s.Between(t, outside, obj)
			}
		}
		pause(ctx, t, action, err)
	}
}

// copyOf returns a copy of an object.
func copyOf[K any, P core.ObjectPtr[K]](obj *K) (*K, error) {
	data, err := wire.MarshalJSON(P(obj))
	if err != nil {
		return nil, err
	}
	c := new(K)
	return c, wire.UnmarshalJSON(data, P(c))
}

// pause waits until the next pass, in a time that is shorter than that of the controller.
func pause(ctx context.Context, t testing.TB, action controller.Action, err error) {
	t.Helper()
	d := 5 * time.Millisecond
	if err != nil || action != controller.AwaitChange() {
		d = 50 * time.Millisecond
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		t.Fatalf("%v: the last pass returned %v, %v", context.Cause(ctx), action, err)
	}
}

// recorder is a middleware that counts requests and kills the program.
type recorder struct {
	kill            int
	sent            bool
	namespace, name string
	path            func(string) string // or nil

	mu       sync.Mutex // guards the fields below
	die      func()
	dead     bool
	requests int
	killed   string
	writes   map[string]int
}

// start begins a new program, which is not killed if one was killed before.
func (r *recorder) start(die func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.die, r.dead = die, false
}

func (r *recorder) middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		now, err := r.begin(req)
		if err != nil {
			return nil, err
		}
		resp, err := next.RoundTrip(req)
		if err == nil {
			r.record(req, resp)
		}
		if !now {
			return resp, err
		}
		r.end()
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return nil, errKilled
	})
}

// begin counts a request. It reports whether the program is killed after it.
func (r *recorder) begin(req *http.Request) (killAfter bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead {
		return false, errKilled
	}
	r.requests++
	if r.requests != r.kill {
		return false, nil
	}
	r.killed = req.Method + " " + req.URL.Path
	r.dead = true
	if !r.sent {
		r.die()
		return false, errKilled
	}
	return true, nil
}

// record records creates and deletes.
func (r *recorder) record(req *http.Request, resp *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	created := resp.StatusCode == http.StatusCreated
	deleted := req.Method == http.MethodDelete && resp.StatusCode < 300
	if created || deleted {
		path := req.URL.Path
		if r.namespace != "" {
			path = strings.ReplaceAll(path, r.namespace, "NAMESPACE")
		}
		path = strings.ReplaceAll(path, r.name, "NAME")
		if r.path != nil {
			path = r.path(path)
		}
		r.writes[req.Method+" "+path]++
	}
}

// end ends the program after the request at which it is killed.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.die()
}
