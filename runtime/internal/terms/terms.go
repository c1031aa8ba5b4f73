// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms connects the term of a replica with the work that runs in it.
package terms

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Unfinished is the error of work that has returned although a part of it continues.
type Unfinished struct {
	Cause error           // of the end of the work
	Left  error           // describes the part that continues
	Done  <-chan struct{} // closed when that part ends
}

func (u *Unfinished) Error() string { return fmt.Sprintf("%v; %v", u.Cause, u.Left) }

func (u *Unfinished) Unwrap() []error { return []error{u.Cause, u.Left} }

// Left returns a channel for each part of the work that continues although the work has returned the error. It is
// closed when the part ends.
func Left(err error) (left []<-chan struct{}) {
	if u, ok := err.(*Unfinished); ok { //nolint:errorlint // each error of the tree is examined
		left = append(left, u.Done)
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			left = append(left, Left(one)...)
		}
	case interface{ Unwrap() error }:
		left = append(left, Left(e.Unwrap())...)
	}
	return left
}

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

// Begin returns the context of the work in a term. It ends with ctx, or when lose is called because another replica may
// take over soon. Work may continue for a while after the end of ctx, but not after that of its term, see [Of].
func Begin(ctx context.Context) (work context.Context, lose context.CancelCauseFunc) {
	term, end := context.WithCancelCause(context.WithoutCancel(ctx))
	work, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, term))
	return work, func(cause error) {
		end(cause)
		cancel(cause)
	}
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
	if term, ok := ctx.Value(termKey{}).(context.Context); ok {
		return term
	}
	return context.Background()
}
