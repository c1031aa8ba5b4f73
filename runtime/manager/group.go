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
	all  context.Context //nolint:containedctx // ends when everything has to stop: with ctx, or before
	stop context.CancelCauseFunc
	fail func(error) // stops everything
	done chan struct{}

	mu      sync.Mutex // guards the fields below
	running []string
	failed  []error // the errors of functions
	waiting bool
}

// newGroup returns a group whose functions end with ctx, or when wait is called. fail is called with the error of a
// function that fails before.
func newGroup(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := &group{all: ctx, fail: fail, done: make(chan struct{})}
	g.ctx, g.stop = context.WithCancelCause(ctx)
	return g
}

// newSupport returns a group whose functions end only when wait is called, which is later than the end of ctx.
func newSupport(ctx context.Context, fail context.CancelCauseFunc) *group {
	g := newGroup(context.WithoutCancel(ctx), fail)
	g.all = ctx
	return g
}

// start runs f in a goroutine.
func (g *group) start(name string, f func(context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = append(g.running, name)
	go func() { // wait waits for it
		err := errGoexit // overwritten if f returns
		defer func() { g.ended(name, err) }()
		err = f(g.ctx)
	}()
}

// errGoexit is the error of a function that ends its goroutine.
var errGoexit = errors.New("runtime.Goexit was called")

// ended takes note of the result of a function. It may be called early for a function for which wait must not wait.
func (g *group) ended(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.running, name)
	if i < 0 {
		return // it was called before
	}
	stopping := g.ctx
	if stopping.Err() == nil {
		stopping = g.all
	}
	if cause := context.Cause(g.ctx); err != nil && (stopping.Err() == nil || !isEnd(stopping, err)) {
		u, ok := err.(*terms.Unfinished) //nolint:errorlint // not a part of it
		if ok && cause != nil && isEnd(g.ctx, u.Cause) {
			err = u.Left // since wait's caller adds the cause
		}
		err = fmt.Errorf("%s: %w", name, err)
		g.failed = append(g.failed, err)
		if cause == nil {
			g.fail(err)
		}
	}
	g.running = slices.Delete(g.running, i, i+1)
	if g.waiting && len(g.running) == 0 {
		close(g.done)
	}
}

// isEnd reports whether an error says nothing but that a context has ended.
func isEnd(ctx context.Context, err error) bool {
	cause := context.Cause(ctx)
	plain := reflect.ValueOf(err).Comparable() // the value: an interface in it may hold a slice
	if plain && err == cause || !plain && reflect.DeepEqual(err, cause) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree is examined
	case *terms.Unfinished:
		return false
	case interface{ Unwrap() []error }:
		return areEnds(ctx, e.Unwrap())
	case interface{ Errors() []error }: // an aggregate of apimachinery, whose Is finds any of its errors
		return areEnds(ctx, e.Errors())
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return isEnd(ctx, inner)
		}
	}
	return reflect.ValueOf(cause).Comparable() && errors.Is(err, cause) || // Is compares them by ==
		errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())
}

// areEnds reports whether the errors of a list say nothing but that a context has ended.
func areEnds(ctx context.Context, all []error) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(one error) bool { return !isEnd(ctx, one) })
}

// wait ends the context of the functions with a cause, and waits until they have returned, but not longer than the
// timeout. It returns their errors, except for the one that is the cause.
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
	late := slices.DeleteFunc(slices.Clone(g.failed), func(err error) bool { return err == cause })
	err := errors.Join(late...)
	if len(g.running) > 0 {
		err = errors.Join(err, fmt.Errorf("manager: still running after Options.StopTimeout: %s",
			strings.Join(g.running, ", ")))
	}
	return err
}
