// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms connects the term of a replica with the work that runs in it.
package terms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Unfinished is the error of work that has returned although a part of it continues, see [Leave].
type Unfinished struct {
	Cause error // of the end of the work
	Left  error // describes the part that continues
}

func (u *Unfinished) Error() string { return fmt.Sprintf("%v; %v", u.Cause, u.Left) }

func (u *Unfinished) Unwrap() []error { return []error{u.Cause, u.Left} }

// Await calls functions that wait until parts of the work can begin. It returns when all of them have returned, or the
// time limit has passed since the first one has: then it ends the contexts of the others, and waits for them. It returns
// the cause of ctx, or the error of a function that has returned one before that.
func Await(ctx context.Context, limit time.Duration, waits ...func(context.Context) error) error {
	waiting, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	results := make(chan error, len(waits))
	for _, wait := range waits {
		wg.Go(func() { results <- wait(waiting) })
	}
	var late <-chan time.Time // nil until the first one has returned
	for range waits {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-late:
			return nil
		}
		if late == nil {
			late = time.After(limit)
		}
	}
	return nil
}

// CheckDurations returns an error if terms with these options could overlap.
func CheckDurations(leaseDuration, renewDeadline, retryPeriod time.Duration) error {
	switch {
	case retryPeriod < 0:
		return fmt.Errorf("Options.RetryPeriod is %v: set a positive duration", retryPeriod)
	case renewDeadline <= retryPeriod:
		return fmt.Errorf("Options.RenewDeadline is %v: set more than RetryPeriod, which is %v", renewDeadline, retryPeriod)
	case leaseDuration%time.Second != 0:
		return fmt.Errorf("Options.LeaseDuration is %v: set whole seconds", leaseDuration)
	case leaseDuration <= renewDeadline+retryPeriod:
		return fmt.Errorf("Options.LeaseDuration is %v: set more than the sum of RenewDeadline, which is %v, and "+
			"RetryPeriod, which is %v", leaseDuration, renewDeadline, retryPeriod)
	}
	return nil
}

type termKey struct{}

// term is the value of the context of work.
type term struct {
	ended context.Context //nolint:containedctx // ends when the term is lost

	mu   sync.Mutex // guards left
	left []Remainder
}

// termOf returns the term of the context of work, or nil outside of a term.
func termOf(ctx context.Context) *term {
	t, _ := ctx.Value(termKey{}).(*term)
	return t
}

// Begin returns the context of the work in a term. It ends with ctx, or when lose is called because another replica may
// take over soon. Work may continue for a while after the end of ctx, but not after that of its term, see [Of].
func Begin(ctx context.Context) (work context.Context, lose context.CancelCauseFunc) {
	ended, end := context.WithCancelCause(context.WithoutCancel(ctx))
	work, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, &term{ended: ended}))
	return work, func(cause error) {
		end(cause)
		cancel(cause)
	}
}

// Remainder is a part of work that continues although the work has returned.
type Remainder struct {
	Err  error           // describes it
	Done <-chan struct{} // closed when it ends
}

// Leave takes note of a part of the work with the context ctx that continues although the work returns. The error of
// the work may be lost on its way, so this must not depend on it. Outside of a term, Leave does nothing.
func Leave(ctx context.Context, r Remainder) {
	if t := termOf(ctx); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.left = append(t.left, r)
	}
}

// Left returns the parts of the work with the context ctx that continue although it has returned.
func Left(ctx context.Context) []Remainder {
	t := termOf(ctx)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = slices.DeleteFunc(t.left, func(r Remainder) bool {
		select {
		case <-r.Done:
			return true
		default:
			return false
		}
	})
	return slices.Clone(t.left)
}

// Result is the result of work.
type Result struct {
	Err  error
	Lost bool // the term had been lost before the work returned
}

// Start starts work in a goroutine, with a context of [Begin]. The channel receives its result.
func Start(ctx context.Context, work func(context.Context) error) chan Result {
	result := make(chan Result, 1)
	go func() {
		err := errGoexit // overwritten if work returns
		defer func() { result <- Result{err, Of(ctx).Err() != nil} }()
		err = work(ctx)
	}()
	return result
}

// errGoexit is the error of work that ends its goroutine.
var errGoexit = errors.New("runtime.Goexit was called")

// Of returns the term of the context of work: a context that ends when the term is lost. Outside of a term it never
// ends.
func Of(ctx context.Context) context.Context {
	if t := termOf(ctx); t != nil {
		return t.ended
	}
	return context.Background()
}
