// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/kubetest/internal/api"
	"github.com/kube-go/sdk/kubetest/internal/explore"
	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

const (
	// faultTime is how long watches are stale, and how long an outage is.
	faultTime = time.Minute
	// restartDelay is the delay before a program that has ended by itself starts again.
	restartDelay = 10 * time.Second
	// stopTimeout is how long a program can take to return after its context has ended.
	stopTimeout = time.Hour
	// maxRestarts is the number of times that a program may end by itself after a fault.
	maxRestarts = 10
)

var (
	errCrash = errors.New("the program crashes")
	errPanic = errors.New("the program panics")
)

// exploration is a run of a scenario. It runs the program and causes the fault.
type exploration struct {
	t        *testing.T
	sent     *atomic.Int64 // the number of requests
	scenario *Scenario
	server   *Server
	api      *api.Server // for the program
	fault    *explore.Fault
	stop     context.CancelCauseFunc
	running  sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	operations []explore.Operation
	reached    bool
	process    *process // nil between two processes

	refused map[string]bool // the messages of denied

	changed    string // the path of the object that another client has changed
	changedUID types.UID
}

// process is a run of the program.
type process struct {
	handler  *handler
	endpoint *endpoint
	stop     context.CancelCauseFunc
	outage   time.Duration // after a crash
}

// begin starts the program.
func (e *exploration) begin(s *Server) {
	s.journal.Begin()
	e.server, e.api = s, s.api.Side()
	ctx, stop := context.WithCancelCause(context.WithoutCancel(e.t.Context()))
	e.stop = stop
	e.running.Go(func() { e.run(ctx) })
}

// end stops the program, and waits until it has ended.
func (e *exploration) end() {
	e.stop(errTestEnds)
	timeout := time.AfterFunc(stopTimeout, func() {
		panic(fmt.Sprintf("kubetest: the program has not returned within %s after its context had ended", stopTimeout))
	})
	defer timeout.Stop()
	e.running.Wait()
}

// run runs the program, and starts it again after a crash.
func (e *exploration) run(ctx context.Context) {
	delay, restarts := time.Duration(0), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		p, err := e.runOnce(ctx)
		_, faulty := e.outcome()
		switch {
		case stopped(ctx, err), errors.Is(err, errPanic), err == nil && !p.handler.dead.Load():
			return
		case p.handler.dead.Load():
			delay = p.outage
		case !faulty || restarts == maxRestarts:
			e.t.Errorf("kubetest: Explore: the program has ended: %v", err)
			return
		default:
			e.server.journal.Note(fmt.Sprintf("the program has ended: %v", err))
			delay = restartDelay
			restarts++
		}
	}
}

// runOnce runs the program until it ends.
func (e *exploration) runOnce(ctx context.Context) (p *process, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := &handler{server: e.server, api: e.api, author: explore.Program}
	p = &process{handler: h, endpoint: newEndpoint(h), stop: stop}
	defer p.endpoint.close()
	e.setProcess(p)
	defer e.setProcess(nil)
	e.server.journal.Note("the program starts")
	c, err := client.New(ctx, &client.Options{
		Config: &config.Config{
			Server: e.server.address, Namespace: namespaceOf(e.scenario.User),
			Impersonate: config.Impersonation{User: e.scenario.User},
		},
		Transport: p.endpoint.transport,
	})
	if err != nil {
		return p, err
	}
	defer func() {
		if got := recover(); got != nil {
			e.t.Errorf("kubetest: the program panics: %v\n%s", got, debug.Stack())
			err = errPanic
		}
	}()
	return p, e.scenario.Program(ctx, c)
}

// closeConnections cuts the connections of the program.
func (e *exploration) closeConnections() {
	e.mu.Lock()
	p := e.process
	e.mu.Unlock()
	if p != nil {
		p.endpoint.closeConnections()
	}
}

func (e *exploration) setProcess(p *process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process = p
}

// outcome returns the operations, and whether the fault has happened.
func (e *exploration) outcome() (operations []explore.Operation, reached bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.operations), e.reached
}

// crash ends the program without giving it the time to write anything more. It starts again after the outage.
func (e *exploration) crash(outage time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.process; p != nil && !p.handler.dead.Swap(true) {
		p.outage = outage
		p.stop(errCrash)
		p.endpoint.cut()
	}
}

// denied reports that the user of the program lacks a permission.
func (e *exploration) denied(message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused == nil {
		e.refused = make(map[string]bool)
	}
	if !e.refused[message] {
		e.refused[message] = true
		e.t.Errorf("kubetest: the program lacks a permission: %s", message)
	}
}

// record records an operation.
func (e *exploration) record(o explore.Operation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.operations = append(e.operations, o)
}

// reach returns whether the fault happens now.
func (e *exploration) reach(req journal.Request) bool {
	if e.fault == nil || e.fault.Request != req {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reached = true
	return true
}

// inject causes the fault of the run if a request is the one of the fault. It returns whether it has served the
// request.
func (e *exploration) inject(
	w http.ResponseWriter, r *http.Request, req journal.Request, serve func(http.ResponseWriter),
) bool {
	if !e.reach(req) {
		return false
	}
	e.server.journal.Note("fault:   " + e.fault.String())
	switch e.fault.Kind {
	case explore.Crash:
		serve(httptest.NewRecorder())
		e.crash(0)
		panic(http.ErrAbortHandler)
	case explore.Cut:
		serve(httptest.NewRecorder())
		e.closeConnections()
		panic(http.ErrAbortHandler)
	case explore.Refusal:
		api.RespondError(w, apierrors.NewInternalError(errors.New("injected by kubetest.Explore")))
		return true
	case explore.Conflict:
		e.changeFirst(r)
	case explore.Stale:
		e.api.Store.Hide(e.api.Watches)
		time.AfterFunc(faultTime, func() { e.api.Store.Show(e.api.Watches) })
	case explore.Outage:
		e.crash(faultTime)
	}
	return false
}

// changeFirst changes the object of a request as another client.
func (e *exploration) changeFirst(r *http.Request) {
	path := journal.ObjectPath(r.URL.Path)
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, explore.ConflictAnnotation)
	changed, _ := e.serve(http.MethodPatch, path, []byte(body))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed, e.changedUID = path, changed.GetUID()
}

// checkChange reports it if the change of another client is lost.
func (e *exploration) checkChange() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changedUID == "" {
		return
	}
	obj, _ := e.serve(http.MethodGet, e.changed, nil)
	if obj.GetUID() == e.changedUID && obj.GetAnnotations()[explore.ConflictAnnotation] == "" {
		e.t.Errorf("kubetest: Explore: the program has undone the change of another client: the annotation %s of %s",
			explore.ConflictAnnotation, e.changed)
	}
}

// serve returns the response to a request of another client: an object, or the status of an error and false.
func (e *exploration) serve(method, path string, body []byte) (obj *unstructured.Unstructured, ok bool) {
	r := httptest.NewRequestWithContext(e.t.Context(), method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", string(types.MergePatchType))
	}
	w := httptest.NewRecorder()
	h := handler{server: e.server, api: e.server.api, author: explore.Other}
	h.ServeHTTP(w, r)
	obj = &unstructured.Unstructured{}
	_ = json.Unmarshal(w.Body.Bytes(), &obj.Object) // the server has encoded it
	return obj, w.Code == http.StatusOK
}

// world returns the state of the server.
func (e *exploration) world() (w explore.World) {
	_ = e.server.api.Store.Update(true, func(tx *store.Tx) error {
		w = explore.NewWorld(tx.All(), e.server.journal, e.scenario.Normalize)
		return nil
	})
	return w
}
