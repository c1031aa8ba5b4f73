// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"errors"
	"sync"
	"testing"
)

var errTestEnds = errors.New("the test ends")

// Run runs a function, such as the Run method of a manager, in a goroutine until the end of the test. The test fails if
// the function returns an error that is not the cause of its context.
func Run(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil && !stopped(ctx, err) {
			t.Errorf("kubetest: the function of Run: %v", err)
		}
	})
	t.Cleanup(func() {
		stop(errTestEnds)
		running.Wait()
	})
}

// stopped returns whether a function has ended with err, or without an error, because the test ends.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, errTestEnds) || errors.Is(err, context.Canceled))
}
