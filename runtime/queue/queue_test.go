// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/runtime/queue"
)

// get gets an item and fails the test unless its key is want.
func get(t testing.TB, q *queue.Queue[string], want string) queue.Item[string] {
	t.Helper()
	item, err := q.Get(t.Context())
	if err != nil || item.Key != want {
		t.Fatalf("Get() = %q, %v, want %q", item.Key, err, want)
	}
	return item
}

// run gets an item like get, and ends its run.
func run(t testing.TB, q *queue.Queue[string], want string) {
	t.Helper()
	get(t, q, want)
	q.Done(want)
}

// wantNothing fails the test if a key is ready.
func wantNothing(t testing.TB, q *queue.Queue[string]) {
	t.Helper()
	if n := q.Stats().Ready; n != 0 {
		t.Fatalf("%d keys are ready, want 0", n)
	}
}

func TestAddsForAWaitingKeyCollapse(t *testing.T) {
	q := queue.New[string](nil)
	q.Add("a", queue.Normal)
	q.Add("b", queue.Normal)
	q.Add("a", queue.Normal)
	run(t, q, "a")
	run(t, q, "b")
	wantNothing(t, q)
}

func TestAddsForARunningKeyCollapseIntoOneMoreRun(t *testing.T) {
	q := queue.New[string](nil)
	q.Add("a", queue.Normal)
	get(t, q, "a")
	for range 3 {
		q.Add("a", queue.Normal)
	}
	wantNothing(t, q) // only one run of a key at a time
	q.Done("a")
	run(t, q, "a")
	wantNothing(t, q)
}

func TestKeyAddedDuringItsRunDoesNotOvertakeWaitingKeys(t *testing.T) {
	q := queue.New[string](nil)
	q.Add("a", queue.Normal)
	get(t, q, "a")
	q.Add("a", queue.Normal)
	q.Add("b", queue.Normal)
	q.Done("a")
	run(t, q, "b")
	run(t, q, "a")
}

func TestKeyAddedDuringItsRunFollowsKeysThatWereDueBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		q.Add("a", queue.Normal)
		q.AddAfter("b", queue.Normal, time.Second)
		get(t, q, "a")
		q.Add("a", queue.Normal)
		time.Sleep(time.Minute)
		q.Done("a")
		run(t, q, "b")
		run(t, q, "a")
	})
}

func TestDoneOfAKeyThatIsNotRunningDoesNothing(t *testing.T) {
	q := queue.New[string](nil)
	q.Done("unknown")
	q.Add("a", queue.Normal)
	q.Done("a")
	run(t, q, "a")
	q.Done("a")
	if diff := cmp.Diff(queue.Stats{Adds: 1}, q.Stats()); diff != "" {
		t.Errorf("Stats() (-want +got):\n%s", diff)
	}
}

func TestTheEarliestDelayedAddWins(t *testing.T) {
	tests := []struct {
		name string
		in   []time.Duration
		want time.Duration
	}{
		{"a later one has no effect", []time.Duration{time.Second, time.Minute}, time.Second},
		{"an earlier one replaces it", []time.Duration{time.Minute, time.Second}, time.Second},
		{"the longest duration is later than all others", []time.Duration{math.MaxInt64, time.Second}, time.Second},
		{"a delay of zero adds immediately", []time.Duration{0}, 0},
		{"a negative delay adds immediately", []time.Duration{math.MinInt64}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queue.New[string](nil)
				defer q.Close()
				start := time.Now()
				for _, d := range test.in {
					q.AddAfter("a", queue.Normal, d)
				}
				run(t, q, "a")
				if got := time.Since(start); got != test.want {
					t.Errorf("a was ready after %v, want %v", got, test.want)
				}
				if got := q.Stats().Delayed; got != 0 {
					t.Errorf("%d keys are still delayed", got)
				}
			})
		})
	}
}

func TestAnAddKeepsADelayedAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("a", queue.Normal, time.Minute)
		q.Add("a", queue.Normal)
		run(t, q, "a")
		run(t, q, "a")
		if got := time.Since(start); got != time.Minute {
			t.Errorf("the second run was after %v, want %v", got, time.Minute)
		}
	})
}

func TestARetryKeepsADelayedAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("a", queue.Normal, time.Minute)
		q.Add("a", queue.Normal)
		get(t, q, "a")
		q.Retry("a", queue.Normal, 0)
		q.Done("a")
		run(t, q, "a")
		run(t, q, "a")
		if got := time.Since(start); got != time.Minute {
			t.Errorf("the last run was after %v, want %v", got, time.Minute)
		}
	})
}

func TestAnEarlierDelayedAddWakesAWaitingGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("later", queue.Normal, time.Minute)
		time.AfterFunc(time.Second, func() { q.AddAfter("sooner", queue.Normal, time.Second) })
		run(t, q, "sooner")
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("sooner was ready after %v, want 2s", got)
		}
		run(t, q, "later")
		if got := time.Since(start); got != time.Minute {
			t.Errorf("later was ready after %v, want 1m", got)
		}
	})
}

func TestDelayedKeysAreHandedOutInTheOrderOfDueTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		q.AddAfter("c", queue.Normal, 3*time.Second)
		q.AddAfter("a", queue.Normal, time.Second)
		q.AddAfter("b", queue.Normal, 2*time.Second)
		time.Sleep(time.Minute) // no Get waits, so no timer runs
		q.Add("d", queue.Normal)
		for _, key := range []string{"a", "b", "c", "d"} {
			run(t, q, key)
		}
	})
}

func TestHigherPrioritiesGoFirst(t *testing.T) {
	q := queue.New[string](nil)
	q.Add("low", queue.Low)
	q.Add("normal", queue.Normal)
	q.Add("high", queue.High)
	q.Add("raised", queue.Low)
	q.Add("raised", queue.High)
	q.Add("raised", queue.Normal)
	for _, key := range []string{"high", "raised", "normal", "low"} {
		run(t, q, key)
	}
}

func TestItemDescribesItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		q.Add("a", queue.Low)
		time.Sleep(time.Second)
		q.Add("a", queue.High)
		want := queue.Item[string]{Key: "a", Priority: queue.High, Waited: time.Second}
		if diff := cmp.Diff(want, get(t, q, "a")); diff != "" {
			t.Errorf("first run (-want +got):\n%s", diff)
		}

		q.Add("a", queue.Low) // the wait for the second run begins during the first
		q.Retry("a", queue.Normal, time.Hour)
		time.Sleep(time.Minute)
		q.Done("a")
		want = queue.Item[string]{Key: "a", Priority: queue.Low, Failures: 1, Waited: time.Minute}
		if diff := cmp.Diff(want, get(t, q, "a")); diff != "" {
			t.Errorf("second run (-want +got):\n%s", diff)
		}
	})
}

func TestLowPriorityKeyDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const aging = 10 * time.Second
		q := queue.New[string](&queue.Options{Aging: aging})
		defer q.Close()
		start := time.Now()
		q.Add("low", queue.Low)
		q.Add("high", queue.High)
		for {
			item, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if item.Key == "low" {
				break
			}
			q.Add(item.Key, queue.High)
			time.Sleep(time.Second)
			q.Done(item.Key)
		}
		// low ages during the tenth turn, and gets the fourth turn after that.
		if got, want := time.Since(start), aging+3*time.Second; got != want {
			t.Errorf("low had its turn after %v, want %v", got, want)
		}
	})
}

func TestAgedFloodDoesNotDelayEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		for i := range 1000 {
			q.Add(fmt.Sprint("flood ", i), queue.Low)
		}
		time.Sleep(time.Hour)
		for i := range 100 {
			event := fmt.Sprint("event ", i)
			q.Add(event, queue.Normal)
			item, err := q.Get(t.Context())
			if err == nil && item.Key != event {
				item, err = q.Get(t.Context())
			}
			if err != nil || item.Key != event {
				t.Fatalf("Get() = %q, %v, want %q to wait for at most one other key", item.Key, err, event)
			}
		}
	})
}

func TestNewPanicsOnInvalidOptions(t *testing.T) {
	tests := []struct {
		name string
		in   queue.Options
	}{
		{"a negative base delay", queue.Options{InitialBackoff: -1}},
		{"a negative maximum delay", queue.Options{MaxBackoff: -1}},
		{"a maximum delay below the base", queue.Options{InitialBackoff: 2, MaxBackoff: 1}},
		{"a negative jitter", queue.Options{Jitter: -0.1}},
		{"a jitter above one", queue.Options{Jitter: 1.1}},
		{"a jitter that is not a number", queue.Options{Jitter: math.NaN()}},
		{"a negative aging", queue.Options{Aging: -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%+v) did not panic", test.in)
				}
			}()
			queue.New[string](&test.in)
		})
	}
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](nil)
		defer q.Close()
		want := func(when string, want queue.Stats) {
			t.Helper()
			if diff := cmp.Diff(want, q.Stats()); diff != "" {
				t.Errorf("Stats() %s (-want +got):\n%s", when, diff)
			}
		}
		want("at first", queue.Stats{})
		q.Add("a", queue.Low)
		q.Add("a", queue.Low)
		time.Sleep(time.Second)
		q.Add("b", queue.High)
		q.AddAfter("c", queue.Normal, time.Minute)
		want("after adds", queue.Stats{Ready: 2, Delayed: 1, OldestWait: time.Second, Adds: 2})
		get(t, q, "b")
		q.Retry("b", queue.High, time.Hour)
		want("during a run", queue.Stats{Ready: 1, Running: 1, Delayed: 2, OldestWait: time.Second, Adds: 2, Retries: 1})
		q.Done("b")
		time.Sleep(time.Minute)
		want("after a delay", queue.Stats{Ready: 2, Delayed: 1, OldestWait: 61 * time.Second, Adds: 3, Retries: 1})
	})
}
