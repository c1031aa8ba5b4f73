// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/internal/terms"
)

// group is functions that run until a context ends.
type group struct {
	ctx  context.Context //nolint:containedctx // of the functions
	stop context.CancelCauseFunc
	fail func(error) // stops everything
	done chan struct{}

	mu      sync.Mutex // guards the fields below
	running []string
	late    []error           // of functions that failed after the end
	left    []<-chan struct{} // close when the work ends that these functions have left
	waiting bool
}

// newGroup returns a group whose functions end with ctx, or when wait is called. fail is called with the error of a
// function that fails.
func newGroup(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := &group{fail: fail, done: make(chan struct{})}
	g.ctx, g.stop = context.WithCancelCause(ctx)
	return g
}

// start runs f in a goroutine.
func (g *group) start(name string, f func(context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = append(g.running, name)
	go func() { g.ended(name, f(g.ctx)) }() // wait waits for it
}

// ended takes note of the result of a function. It may be called before a function ends for which wait must not wait.
func (g *group) ended(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.running, name)
	if i < 0 {
		return // it was called before
	}
	switch cause := context.Cause(g.ctx); {
	case err == nil, cause != nil && isEnd(err, cause):
	case cause == nil:
		g.fail(fmt.Errorf("%s: %w", name, err))
	default:
		if u, ok := errors.AsType[*terms.Unfinished](err); ok {
			g.left = append(g.left, u.Done)
			if error(u) == err && isEnd(u.Cause, cause) {
				err = u.Left // since wait's caller adds the cause
			}
		}
		g.late = append(g.late, fmt.Errorf("%s: %w", name, err))
	}
	g.running = slices.Delete(g.running, i, i+1)
	if g.waiting && len(g.running) == 0 {
		close(g.done)
	}
}

// isEnd reports whether an error says nothing but that a context has ended, with a cause.
func isEnd(err, cause error) bool {
	if reflect.TypeOf(err).Comparable() && err == cause {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree is examined
	case *terms.Unfinished:
		return false
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !isEnd(one, cause) })
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return isEnd(inner, cause)
		}
	}
	return errors.Is(err, cause) || errors.Is(err, context.Canceled)
}

// wait ends the context of the functions with a cause, and waits until they have returned, but not longer than the
// timeout. It returns their errors.
func (g *group) wait(cause error, timeout time.Duration) error {
	g.stop(cause)
	g.mu.Lock()
	g.waiting = true
	if len(g.running) == 0 {
		close(g.done)
	}
	g.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-g.done:
	case <-timer.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	err := errors.Join(g.late...)
	if len(g.running) > 0 {
		err = errors.Join(err, fmt.Errorf("manager: still running after Options.StopTimeout: %s",
			strings.Join(g.running, ", ")))
	}
	return err
}
