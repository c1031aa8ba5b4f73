// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
)

// fail gets the key, fails its run, and returns the delay of the retry.
func fail(t testing.TB, q *applier.Applier[string, string], key string, atLeast time.Duration) time.Duration {
	t.Helper()
	get(t, q, key)
	defer q.Done(key)
	return q.Retry(key, applier.Normal, "", atLeast)
}

// wantDelay fails the test unless the two delays are equal.
func wantDelay(t testing.TB, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("Retry() = %v, want %v", got, want)
	}
}

func TestTheBackOffDoublesUpToItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second, MaxBackoff: 10 * time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		var elapsed time.Duration // when the run is expected
		start := time.Now()
		for i, delay := range []time.Duration{1, 2, 4, 8, 10, 10} {
			item := get(t, q, "a")
			if got := time.Since(start); got != elapsed || item.Failures != i {
				t.Errorf("run after %v and %d failures, want %v and %d", got, item.Failures, elapsed, i)
			}
			wantDelay(t, q.Retry("a", applier.Normal, "", 0), delay*time.Second)
			q.Done("a")
			elapsed += delay * time.Second
		}
	})
}

func TestEachKeyHasItsOwnBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		fail(t, q, "a", 0)
		wantDelay(t, fail(t, q, "a", 0), 2*time.Second)
		q.Add("b", applier.Normal, "")
		wantDelay(t, fail(t, q, "b", 0), time.Second)
	})
}

func TestSuccessResetsTheBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		fail(t, q, "a", 0)
		wantDelay(t, fail(t, q, "a", 0), 2*time.Second)
		run(t, q, "a")
		q.Add("a", applier.Normal, "")
		if item := get(t, q, "a"); item.Failures != 0 {
			t.Errorf("the key has %d failures after a success, want 0", item.Failures)
		}
		wantDelay(t, q.Retry("a", applier.Normal, "", 0), time.Second)
	})
}

func TestSuccessCancelsThePendingRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		fail(t, q, "a", 0)
		q.Add("a", applier.Normal, "")
		run(t, q, "a")
		time.Sleep(time.Hour)
		if got, want := q.Stats(), (applier.Stats{Adds: 2, Retries: 1}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
	})
}

func TestABurstOfEventsDoesNotIncreaseTheBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		for range 20 {
			q.Add("a", applier.Normal, "")
			wantDelay(t, fail(t, q, "a", 0), time.Second)
			time.Sleep(time.Millisecond)
		}
		last := time.Now()
		item := get(t, q, "a")
		if got, want := time.Since(last), 999*time.Millisecond; got != want || item.Failures != 20 {
			t.Errorf("retry after %v and %d failures, want %v and 20", got, item.Failures, want)
		}
		wantDelay(t, q.Retry("a", applier.Normal, "", 0), 2*time.Second)
	})
}

// failWithRetryPending fails a run of the key, and begins one for an event that ends after the retry would be due.
func failWithRetryPending(t testing.TB, q *applier.Applier[string, string]) {
	t.Helper()
	q.Add("a", applier.Normal, "")
	wantDelay(t, fail(t, q, "a", 0), time.Second)
	q.Add("a", applier.Normal, "event")
	get(t, q, "a")
	time.Sleep(2 * time.Second)
}

func TestFailureOfALongRunForAnEventIsFollowedByItsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		failWithRetryPending(t, q)
		wantDelay(t, q.Retry("a", applier.Normal, "", 0), time.Second)
		q.Done("a")
		failed := time.Now()
		get(t, q, "a")
		if got := time.Since(failed); got != time.Second {
			t.Errorf("the next run came after %v, want 1s", got)
		}
		wantDelay(t, q.Retry("a", applier.Normal, "", 0), 2*time.Second)
	})
}

func TestLongRunForAnEventCancelsTheRetryThatWasPendingBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		failWithRetryPending(t, q)
		q.Done("a") // a success, or an error that is not retried
		time.Sleep(time.Hour)
		wantNothing(t, q)
		if got, want := q.Stats(), (applier.Stats{Adds: 2, Retries: 1}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
	})
}

func TestSkippedRunKeepsTheRetryThatWasPendingBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []bool{false, true} {
			q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: 3 * time.Second}})
			defer q.Close()
			q.Add("a", applier.Normal, "")
			fail(t, q, "a", 0)
			failed, want := time.Now(), 3*time.Second
			q.Add("a", applier.Normal, "own write")
			get(t, q, "a")
			if late {
				want = 4 * time.Second
				time.Sleep(want)
			}
			q.Skip("a")
			item := get(t, q, "a")
			if got := time.Since(failed); got != want || item.Failures != 1 {
				t.Errorf("the retry came after %v and %d failures, want %v and 1", got, item.Failures, want)
			}
			wantDelay(t, q.Retry("a", applier.Normal, "", 0), 6*time.Second)
		}
	})
}

func TestRetryWaitsForTheGivenMinimum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: 2 * time.Second, MaxBackoff: 10 * time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		wantDelay(t, fail(t, q, "a", time.Second), 2*time.Second)
		wantDelay(t, fail(t, q, "a", time.Minute), time.Minute)
		failed := time.Now()
		get(t, q, "a")
		if got := time.Since(failed); got != time.Minute {
			t.Errorf("the retry came after %v, want 1m", got)
		}
		wantDelay(t, q.Retry("a", applier.Normal, "", 0), 8*time.Second) // the minimum does not stop the doubling
	})
}

func TestRetryWaitsForTheGivenMinimumWhenAnotherRetryIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		fail(t, q, "a", 0)
		q.Add("a", applier.Normal, "")
		fail(t, q, "a", time.Minute)
		failed := time.Now()
		get(t, q, "a")
		if got := time.Since(failed); got != time.Minute {
			t.Errorf("the retry came after %v, want 1m", got)
		}
	})
}

func TestAFailureDoesNotDelayAnEventOfTheSameRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Second}})
		defer q.Close()
		q.Add("a", applier.Normal, "")
		get(t, q, "a")
		q.Add("a", applier.Normal, "")
		q.Retry("a", applier.Normal, "", 0)
		q.Done("a")
		failed := time.Now()
		get(t, q, "a")
		if got := time.Since(failed); got != 0 {
			t.Errorf("the run for the event came after %v, want immediately", got)
		}
	})
}

func TestJitterShortensADelayByAtMostItsShare(t *testing.T) {
	q := applier.New[int, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Minute, Jitter: 0.5}})
	defer q.Close()
	seen := map[time.Duration]bool{}
	for key := range 100 {
		delay := q.Retry(key, applier.Normal, "", 0)
		if delay <= 30*time.Second || delay > time.Minute {
			t.Errorf("Retry() = %v, want more than 30s and at most 1m", delay)
		}
		seen[delay] = true
	}
	if len(seen) < 2 {
		t.Errorf("100 keys have the same delay, want random delays")
	}
}
