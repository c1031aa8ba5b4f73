// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// source is a source of the credentials token-1, token-2 and so on, in a bubble.
type source struct {
	runs  int
	takes time.Duration
	lives time.Duration // lifetime of a credential; zero means unlimited
	same  bool          // returns the previous credential
	err   error
	last  *credential
	ended int // number of runs whose context ended first

	running, most int // number of concurrent runs, now and at most
}

func (s *source) obtain(ctx context.Context, _ *credential) (*credential, error) {
	s.runs++
	s.running++
	s.most = max(s.most, s.running)
	defer func() { s.running-- }()
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		s.ended++
		return nil, context.Cause(ctx)
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case s.same && s.last != nil:
		return new(*s.last), nil
	}
	s.last = &credential{token: fmt.Sprintf("token-%d", s.runs)}
	if s.lives != 0 {
		s.last.expiry = time.Now().Add(s.lives)
	}
	return new(*s.last), nil
}

func wait(d time.Duration) { <-time.After(d) }

// TestKeeper checks which credential is returned during the lifetime of credentials.
func TestKeeper(t *testing.T) {
	broken := errors.New("broken")
	type step struct {
		after  time.Duration // time to wait
		change func(*source)
		want   string // the token or the error
		runs   int    // number of runs of the source so far
	}
	for _, tc := range []struct {
		name   string
		source source
		pause  time.Duration // after a failure
		steps  []step
	}{
		{"a credential without expiration is kept", source{}, 0, []step{
			{0, nil, "token-1", 1},
			{1000 * time.Hour, nil, "token-1", 1},
		}},
		{"a credential is replaced thirty seconds before it expires", source{lives: time.Hour}, 0, []step{
			{0, nil, "token-1", 1},
			{time.Hour - 31*time.Second, nil, "token-1", 1},
			{time.Second, nil, "token-2", 2},
			{time.Minute, nil, "token-2", 2},
		}},
		{
			"a short-lived credential is replaced when a quarter of its lifetime is left",
			source{lives: 20 * time.Second},
			0,
			[]step{
				{0, nil, "token-1", 1},
				{14 * time.Second, nil, "token-1", 1},
				{time.Second, nil, "token-2", 2},
			},
		},
		{"the old credential is used while renewal fails", source{lives: time.Hour}, 0, []step{
			{0, nil, "token-1", 1},
			{time.Hour - 25*time.Second, func(s *source) { s.err = broken }, "token-1", 2},
			{9 * time.Second, nil, "token-1", 2},
			{time.Second, nil, "token-1", 3},
			{14 * time.Second, nil, "token-1", 4},
			{time.Second, nil, "broken", 5},
			{0, nil, "broken", 6},
			{0, func(s *source) { s.err = nil }, "token-7", 7},
		}},
		{"the error of a source with a pause is repeated for its duration", source{err: broken}, time.Second, []step{
			{0, nil, "broken", 1},
			{999 * time.Millisecond, func(s *source) { s.err = nil }, "broken", 1},
			{time.Millisecond, nil, "token-2", 2},
		}},
		{
			"a source that returns the same credential until it expires is not called all the time",
			source{lives: time.Hour, same: true},
			0,
			[]step{
				{0, nil, "token-1", 1},
				{time.Hour - 30*time.Second, nil, "token-1", 2},
				{9 * time.Second, nil, "token-1", 2},
				{time.Second, nil, "token-1", 3},
				{10 * time.Second, nil, "token-1", 4},
				{10 * time.Second, func(s *source) { s.same = false }, "token-5", 5},
			},
		},
		{"an expired credential is used, and the source is not called for a while", source{lives: -time.Hour}, 0, []step{
			{0, nil, "token-1", 1},
			{9 * time.Second, nil, "token-1", 1},
			{time.Second, nil, "token-2", 2},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tc.source
				k := &keeper{obtain: s.obtain, failurePause: tc.pause}
				for i, step := range tc.steps {
					wait(step.after)
					if step.change != nil {
						step.change(&s)
					}
					c, err := k.get(t.Context())
					got := ""
					if err != nil {
						got = err.Error()
					} else {
						got = c.token
					}
					if got != step.want || s.runs != step.runs {
						t.Errorf("step %d: %s after %d runs, want %s after %d", i+1, got, s.runs, step.want, step.runs)
					}
				}
			})
		})
	}
}

// TestKeeperRefusal checks that a rejected credential is replaced once, however many requests it was rejected for, and
// that a source without a new credential is not called again for a while.
func TestKeeperRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: time.Second}
		k := &keeper{obtain: s.obtain}
		get := func() *credential {
			t.Helper()
			c, err := k.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		expect := func(when string, rejected *credential, want bool, runs int) {
			t.Helper()
			if got, err := k.renew(t.Context(), rejected); got != want || err != nil || s.runs != runs {
				t.Errorf("%s: renew = %v, %v after %d runs; want %v after %d", when, got, err, s.runs, want, runs)
			}
		}
		first := get()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { expect("concurrently", first, true, 2) })
		}
		wg.Wait()
		second := get()
		expect("late", first, true, 2)

		s.same = true
		expect("without a new one", second, false, 3)
		expect("without a new one, again", second, false, 3)
		wait(pause)
		s.err = errors.New("broken")
		if _, err := k.renew(t.Context(), second); err == nil || s.runs != 4 {
			t.Errorf("renew = %v after %d runs, want an error after 4", err, s.runs)
		}
		if c := get(); !c.same(second) {
			t.Errorf("a rejected credential was dropped before there was a new one: %s", c.token)
		}
	})
}

// TestKeeperRefusalDoesNotShortenTheLifetime checks that a source that returns the rejected credential again is called
// next when the credential is about to expire: the server may accept it again.
func TestKeeperRefusalDoesNotShortenTheLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{lives: time.Hour, same: true}
		k := &keeper{obtain: s.obtain}
		first, err := k.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if renewed, err := k.renew(t.Context(), first); renewed || err != nil || s.runs != 2 {
			t.Fatalf("renew = %v, %v after %d runs; want false after 2", renewed, err, s.runs)
		}
		wait(time.Hour - leeway - time.Second)
		if _, err := k.get(t.Context()); err != nil || s.runs != 2 {
			t.Errorf("%v after %d runs a second before renewal; want 2", err, s.runs)
		}
		wait(time.Second)
		if _, err := k.get(t.Context()); err != nil || s.runs != 3 {
			t.Errorf("%v after %d runs at renewal; want 3", err, s.runs)
		}
	})
}

// TestKeeperWaitsAsLongAsEachCallerAllows checks that a caller returns when its context ends, and that the others get
// the credential.
func TestKeeperWaitsAsLongAsEachCallerAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 10 * time.Second}
		k := &keeper{obtain: s.obtain}
		var wg sync.WaitGroup
		for _, patience := range []time.Duration{time.Second, 5 * time.Second, time.Minute, 2 * time.Minute} {
			wg.Go(func() {
				token, took, err := ask(t, k, patience)
				if want := min(patience, s.takes); took != want {
					t.Errorf("with a timeout of %v it took %v, want %v", patience, took, want)
				}
				if patience < s.takes && (err == nil || err.Error() != "enough") || patience > s.takes && token != "token-1" {
					t.Errorf("with a timeout of %v: %q, %v", patience, token, err)
				}
			})
		}
		wg.Wait()
		if s.runs != 1 || s.ended != 0 {
			t.Errorf("the source ran %d times and was canceled %d times, want once and never", s.runs, s.ended)
		}
	})
}

// TestKeeperFinishesAFlightThatNobodyWaitsFor checks that a source is never canceled by its callers, that later callers
// join the flight instead of starting a second one, and that its result is kept.
func TestKeeperFinishesAFlightThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{takes: 10 * time.Second}
		k := &keeper{obtain: s.obtain}
		for range 3 {
			if _, took, err := ask(t, k, time.Second); err == nil || took != time.Second {
				t.Errorf("%v after %v, want an error after 1s", err, took)
			}
		}
		if token, took, err := ask(t, k, time.Minute); token != "token-1" || err != nil || took != 7*time.Second {
			t.Errorf("%q, %v after %v; want token-1 after 7s", token, err, took)
		}
		first := k.peek()
		s.last = nil
		if _, err := renewFor(t, k, time.Second, first); err == nil {
			t.Error("renew waited longer than its context allows")
		}
		wait(time.Minute)
		if c := k.peek(); c.token != "token-2" || s.runs != 2 || s.most != 1 || s.ended != 0 {
			t.Errorf("%s after %d runs, %d at once, %d canceled; want token-2 after 2, 1 at once, none canceled",
				c.token, s.runs, s.most, s.ended)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := k.renew(ended, k.peek()); err == nil || s.runs != 2 {
			t.Errorf("%v after %d runs; want an error, and no run for a request that has ended", err, s.runs)
		}
	})
}

// ask gets a credential with a context that times out, and returns the token and how long it took.
func ask(t *testing.T, k *keeper, patience time.Duration) (string, time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("enough"))
	defer cancel()
	start := time.Now()
	c, err := k.get(ctx)
	if err != nil {
		return "", time.Since(start), err
	}
	return c.token, time.Since(start), nil
}

func renewFor(t *testing.T, k *keeper, patience time.Duration, refused *credential) (bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return k.renew(ctx, refused)
}

// lateContext calls late when somebody begins to wait for its end.
type lateContext struct {
	context.Context //nolint:containedctx // it is a context
	late            func()
}

func (c lateContext) Done() <-chan struct{} {
	c.late()
	return c.Context.Done()
}

// TestCallerOfAFailedFlightGetsTheCredentialOfALaterOne: a later flight succeeds before the caller of the first one runs
// again.
func TestCallerOfAFailedFlightGetsTheCredentialOfALaterOne(t *testing.T) {
	for _, lives := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &source{err: errors.New("broken"), lives: lives}
			k := &keeper{obtain: s.obtain}
			ctx := lateContext{context.Background(), func() {
				synctest.Wait() // until the first flight has failed
				s.err = nil
				if _, err := k.get(context.Background()); err != nil {
					t.Error(err)
				}
			}}
			for range 2 {
				got, err := k.get(ctx)
				if err != nil || got.token != "token-2" || s.runs != 2 {
					t.Fatalf("get = %v, %v after %d runs, want the credential of the second run", got, err, s.runs)
				}
				<-time.After(lives / 2)
			}
		})
	}
}
