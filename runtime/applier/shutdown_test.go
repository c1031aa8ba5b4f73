// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/runtime/applier"
)

var errStop = errors.New("stop")

// goGet calls Get in a goroutine and returns a channel with its error.
func goGet(ctx context.Context, q *applier.Applier[string, string]) <-chan error {
	c := make(chan error, 1)
	go func() {
		_, err := q.Get(ctx)
		c <- err
	}()
	return c
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

func TestGetReturnsTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := goGet(ctx, q)
		synctest.Wait()
		cancel(errStop)
		wantError(t, <-waiting, errStop)

		q.Add("a", applier.Normal, "")
		_, err := q.Get(ctx)
		wantError(t, err, errStop)
		run(t, q, "a") // the key is still in the applier
	})
}

func TestCloseDropsKeysThatAreNotRunning(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Add("running", applier.Normal, "")
	get(t, q, "running")
	q.Add("running", applier.Normal, "")
	q.Add("waiting", applier.Normal, "")
	q.AddAfter("delayed", applier.Normal, "", time.Hour)
	q.Close()
	q.Close()

	_, err := q.Get(t.Context())
	wantError(t, err, applier.ErrClosed)
	if got, want := q.Stats(), (applier.Stats{Running: 1, Adds: 3}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	q.Done("running")
	_, err = q.Get(t.Context())
	wantError(t, err, applier.ErrClosed)
}

func TestAClosedApplierIgnoresAdds(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Close()
	q.Add("a", applier.Normal, "")
	q.AddAfter("a", applier.Normal, "", 0)
	q.AddAfter("a", applier.Normal, "", time.Hour)
	if delay := q.Retry("a", applier.Normal, "", 0); delay != 0 {
		t.Errorf("Retry() = %v on a closed applier, want 0", delay)
	}
	if diff := cmp.Diff(applier.Stats{}, q.Stats()); diff != "" {
		t.Errorf("Stats() (-want +got):\n%s", diff)
	}
}

func TestCloseWakesEveryGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		q.AddAfter("a", applier.Normal, "", time.Hour)
		var waiting []<-chan error
		for range 5 {
			waiting = append(waiting, goGet(t.Context(), q))
		}
		synctest.Wait()
		q.Close()
		for _, c := range waiting {
			wantError(t, <-c, applier.ErrClosed)
		}
	})
}

func TestDrainWaitsForWaitingAndRunningKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		q.Add("a", applier.Normal, "")
		q.Add("b", applier.Normal, "")
		q.AddAfter("delayed", applier.Normal, "", time.Minute)
		get(t, q, "a")
		q.Add("a", applier.Normal, "")
		drained := make(chan error, 1)
		go func() { drained <- q.Drain(t.Context()) }()
		synctest.Wait()

		q.Add("too late", applier.Normal, "")
		q.Retry("a", applier.Normal, "", 0)
		q.Done("a")
		run(t, q, "b")
		get(t, q, "a")
		_, err := q.Get(t.Context())
		wantError(t, err, applier.ErrClosed)
		synctest.Wait()
		select {
		case err := <-drained:
			t.Fatalf("Drain() = %v while a key is running", err)
		default:
		}
		q.Done("a")
		wantError(t, <-drained, nil)
		wantError(t, q.Drain(t.Context()), nil)
	})
}

func TestDrainAfterCloseWaitsForRunningKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		q.Add("running", applier.Normal, "")
		q.Add("waiting", applier.Normal, "")
		get(t, q, "running")
		q.Close()
		time.AfterFunc(time.Minute, func() { q.Done("running") })
		start := time.Now()
		wantError(t, q.Drain(t.Context()), nil)
		if got := time.Since(start); got != time.Minute {
			t.Errorf("Drain returned after %v, want 1m", got)
		}
	})
}

func TestCloseEndsADrainWithoutWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		q.Add("a", applier.Normal, "")
		time.AfterFunc(time.Minute, q.Close)
		wantError(t, q.Drain(t.Context()), nil)
	})
}

func TestDrainReturnsTheCauseOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)

	q := applier.New[string, string](nil)
	q.Add("a", applier.Normal, "")
	wantError(t, q.Drain(ctx), errStop)
	run(t, q, "a") // it is still handed out
	for range 20 { // with nothing to wait for, the context does not matter; repeated, since select is random
		wantError(t, q.Drain(ctx), nil)
	}
}
