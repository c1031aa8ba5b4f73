// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

var errStop = errors.New("the test is over")

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}}
}

func newServer(t testing.TB, names ...string) *fakesource.Server {
	t.Helper()
	res, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	s := fakesource.New(res, wire.JSON)
	for _, name := range names {
		s.Put(configMap(name))
	}
	return s
}

// recorder runs a watcher in the bubble of a test, and records its events, requests and errors.
type recorder struct {
	t      *testing.T
	server *fakesource.Server
	stop   context.CancelCauseFunc
	ended  chan error // gets the error that the sequence has ended with

	mu     sync.Mutex // guards the fields below
	events []string
	errs   []error
}

// record starts a watcher that is stopped when the test ends.
func record(t *testing.T, server *fakesource.Server, config watcher.Options) *recorder {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	r := &recorder{t: t, server: server, stop: stop, ended: make(chan error, 1)}
	config.OnError = func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
	go func() {
		var last error
		for ev, err := range watcher.Events(ctx, server, &config) {
			if err != nil {
				last = err
				continue // another pair after the error would replace it
			}
			r.mu.Lock()
			r.events = append(r.events, describe(ev))
			r.mu.Unlock()
		}
		r.ended <- last
	}()
	t.Cleanup(func() { stop(errStop) })
	synctest.Wait()
	return r
}

func describe(ev watcher.Event) string {
	switch ev.Type {
	case watcher.Init:
		return "Init"
	case watcher.InitDone, watcher.Bookmark:
		return fmt.Sprintf("%s@%s", ev.Type, ev.Head.ResourceVersion)
	case watcher.InitApply, watcher.Apply, watcher.Delete:
	}
	head, err := ev.Object.Head()
	if err != nil || head != ev.Head {
		return fmt.Sprintf("%s of %v with head %v: %v", ev.Type, head, ev.Head, err)
	}
	return fmt.Sprintf("%s %s@%s", ev.Type, ev.Head.Ref.Name, ev.Head.ResourceVersion)
}

// want checks the events and requests since the last call, separated by commas.
func (r *recorder) want(events, requests string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.events, ", "); got != events {
		r.t.Errorf("events:\n got %s\nwant %s", got, events)
	}
	if got := strings.Join(r.server.Requests(), ", "); got != requests {
		r.t.Errorf("requests:\n got %s\nwant %s", got, requests)
	}
	r.events = nil
}

// wantErrors checks the errors that were reported since the last call: each must match its target, or contain its text.
func (r *recorder) wantErrors(targets ...any) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	ok := len(r.errs) == len(targets)
	for i := range min(len(r.errs), len(targets)) {
		switch target := targets[i].(type) {
		case error:
			ok = ok && errors.Is(r.errs[i], target)
		case string:
			ok = ok && strings.Contains(r.errs[i].Error(), target)
		}
	}
	if !ok {
		r.t.Errorf("reported errors:\n got %v\nwant %v", r.errs, targets)
	}
	r.errs = nil
}

// wantCause checks that a sequence has only one pair: the error with which its context has ended.
func wantCause(t *testing.T, events iter.Seq2[watcher.Event, error]) {
	t.Helper()
	pairs := 0
	for ev, err := range events {
		if pairs++; err != errStop {
			t.Errorf("got %v, %v, want the cause", ev, err)
		}
	}
	if pairs != 1 {
		t.Errorf("%d pairs, want one", pairs)
	}
}
