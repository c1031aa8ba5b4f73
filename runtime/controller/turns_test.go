// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/runtime/controller"
)

// TestBusyWorkerLetsOthersRun counts the turns of another goroutine while a worker always has work. It is not parallel,
// since it limits the program to one processor. Each run takes real time, so a slow machine gives more turns.
func TestBusyWorkerLetsOthersRun(t *testing.T) {
	const runs = 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := newWorld(t)
	for i := range runs {
		w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var turns atomic.Int64
	first, done := int64(0), 0
	go func() {
		for ctx.Err() == nil {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	ctl := controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1})
	err := ctl.Run(ctx, func(context.Context, *document) (controller.Action, error) {
		for began := time.Now(); time.Since(began) < 300*time.Microsecond; {
		}
		if done++; done == 1 {
			first = turns.Load()
		}
		if done == runs {
			turns.Add(-first)
			stop(errStop)
		}
		return controller.AwaitChange(), nil
	})
	if err != errStop {
		t.Fatal(err)
	}
	if least := int64(runs / 5); turns.Load() < least { // a turn follows each millisecond
		t.Errorf("another goroutine had %d turns in %d runs, want at least %d", turns.Load(), runs, least)
	}
}
