// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// group is functions that run until a context ends.
type group struct {
	ctx  context.Context //nolint:containedctx // of the functions
	stop context.CancelCauseFunc
	fail func(error) // stops everything
	done chan struct{}

	mu      sync.Mutex // guards the fields below
	running []string
	late    []error // of functions that failed after the end
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

// ended takes note of the result of a function.
func (g *group) ended(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch cause := context.Cause(g.ctx); {
	case err == nil, err == cause:
	case cause == nil:
		g.fail(fmt.Errorf("%s: %w", name, err))
	default:
		g.late = append(g.late, fmt.Errorf("%s: %w", name, err))
	}
	i := slices.Index(g.running, name)
	g.running = slices.Delete(g.running, i, i+1)
	if g.waiting && len(g.running) == 0 {
		close(g.done)
	}
}

// wait ends the context of the functions with a cause, and waits until they have returned, but not after the deadline,
// unless it is zero. It returns their errors.
func (g *group) wait(cause error, deadline time.Time) error {
	g.stop(cause)
	g.mu.Lock()
	g.waiting = true
	if len(g.running) == 0 {
		close(g.done)
	}
	g.mu.Unlock()
	if deadline.IsZero() {
		<-g.done
	} else {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		select {
		case <-g.done:
		case <-timer.C:
		}
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
