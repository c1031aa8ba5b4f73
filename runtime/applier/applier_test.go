// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/runtime/applier"
)

// get gets an item and fails the test unless its key is want.
func get(t testing.TB, q *applier.Applier[string, string], want string) applier.Item[string, string] {
	t.Helper()
	item, err := q.Get(t.Context())
	if err != nil || item.Key != want {
		t.Fatalf("Get() = %q, %v, want %q", item.Key, err, want)
	}
	return item
}

// run gets an item like get, and ends its run.
func run(t testing.TB, q *applier.Applier[string, string], want string) {
	t.Helper()
	get(t, q, want)
	q.Done(want)
}

// wantNothing fails the test if a key is ready.
func wantNothing(t testing.TB, q *applier.Applier[string, string]) {
	t.Helper()
	if n := q.Stats().Ready; n != 0 {
		t.Fatalf("%d keys are ready, want 0", n)
	}
}

func TestAddsForAWaitingKeyCollapse(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Add("a", applier.Normal, "")
	q.Add("b", applier.Normal, "")
	q.Add("a", applier.Normal, "")
	run(t, q, "a")
	run(t, q, "b")
	wantNothing(t, q)
}

func TestAddsForARunningKeyCollapseIntoOneMoreRun(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Add("a", applier.Normal, "")
	get(t, q, "a")
	for range 3 {
		q.Add("a", applier.Normal, "")
	}
	wantNothing(t, q) // only one run of a key at a time
	q.Done("a")
	run(t, q, "a")
	wantNothing(t, q)
}

// TestCancelForgetsTheDelaysOfAKey checks that only the delays of the key are over, and that it runs if it is ready.
func TestCancelForgetsTheDelaysOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		q.AddAfter("a", applier.Normal, "", time.Hour)
		q.AddAfter("b", applier.Normal, "", time.Hour)
		q.Add("a", applier.Normal, "")
		get(t, q, "a")
		q.Retry("a", applier.Normal, "", 0)
		q.Add("a", applier.Normal, "")
		q.Cancel("a")
		q.Done("a")
		if n := q.Stats().Delayed; n != 1 {
			t.Errorf("%d keys are delayed, want that of the other key", n)
		}
		if item := get(t, q, "a"); item.Failures != 0 {
			t.Errorf("the key has %d failures, want none", item.Failures)
		}
		q.Done("a")
		q.Cancel("a") // has no entry
		q.Cancel("b") // does not run
		time.Sleep(2 * time.Hour)
		wantNothing(t, q)
		if adds := q.Stats().Adds; adds != 2 {
			t.Errorf("%d adds, want the two of the key", adds)
		}
	})
}

func TestKeyAddedDuringItsRunDoesNotOvertakeWaitingKeys(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Add("a", applier.Normal, "")
	get(t, q, "a")
	q.Add("a", applier.Normal, "")
	q.Add("b", applier.Normal, "")
	q.Done("a")
	run(t, q, "b")
	run(t, q, "a")
}

func TestKeyAddedDuringItsRunFollowsKeysThatWereDueBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		q.Add("a", applier.Normal, "")
		q.AddAfter("b", applier.Normal, "", time.Second)
		get(t, q, "a")
		q.Add("a", applier.Normal, "")
		time.Sleep(time.Minute)
		q.Done("a")
		run(t, q, "b")
		run(t, q, "a")
	})
}

func TestDoneOfAKeyThatIsNotRunningDoesNothing(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Done("unknown")
	q.Add("a", applier.Normal, "")
	q.Done("a")
	run(t, q, "a")
	q.Done("a")
	if diff := cmp.Diff(applier.Stats{Adds: 1}, q.Stats()); diff != "" {
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
				q := applier.New[string, string](nil)
				defer q.Close()
				start := time.Now()
				for _, d := range test.in {
					q.AddAfter("a", applier.Normal, "", d)
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
		q := applier.New[string, string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("a", applier.Normal, "", time.Minute)
		q.Add("a", applier.Normal, "")
		run(t, q, "a")
		run(t, q, "a")
		if got := time.Since(start); got != time.Minute {
			t.Errorf("the second run was after %v, want %v", got, time.Minute)
		}
	})
}

func TestARetryKeepsADelayedAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("a", applier.Normal, "", time.Minute)
		q.Add("a", applier.Normal, "")
		get(t, q, "a")
		q.Retry("a", applier.Normal, "", 0)
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
		q := applier.New[string, string](nil)
		defer q.Close()
		start := time.Now()
		q.AddAfter("later", applier.Normal, "", time.Minute)
		time.AfterFunc(time.Second, func() { q.AddAfter("sooner", applier.Normal, "", time.Second) })
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
		q := applier.New[string, string](nil)
		defer q.Close()
		q.AddAfter("c", applier.Normal, "", 3*time.Second)
		q.AddAfter("a", applier.Normal, "", time.Second)
		q.AddAfter("b", applier.Normal, "", 2*time.Second)
		time.Sleep(time.Minute) // no Get waits, so no timer runs
		q.Add("d", applier.Normal, "")
		for _, key := range []string{"a", "b", "c", "d"} {
			run(t, q, key)
		}
	})
}

func TestHigherPrioritiesGoFirst(t *testing.T) {
	q := applier.New[string, string](nil)
	q.Add("low", applier.Low, "")
	q.Add("normal", applier.Normal, "")
	q.Add("high", applier.High, "")
	q.Add("raised", applier.Low, "")
	q.Add("raised", applier.High, "")
	q.Add("raised", applier.Normal, "")
	for _, key := range []string{"high", "raised", "normal", "low"} {
		run(t, q, key)
	}
}

func TestItemDescribesItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		q.Add("a", applier.Low, "")
		time.Sleep(time.Second)
		q.Add("a", applier.High, "")
		want := applier.Item[string, string]{Key: "a", Priority: applier.High, Waited: time.Second, Others: []string{""}}
		if diff := cmp.Diff(want, get(t, q, "a")); diff != "" {
			t.Errorf("first run (-want +got):\n%s", diff)
		}

		q.Add("a", applier.Low, "") // the wait for the second run begins during the first
		q.Retry("a", applier.Normal, "", time.Hour)
		time.Sleep(time.Minute)
		q.Done("a")
		want = applier.Item[string, string]{Key: "a", Priority: applier.Low, Failures: 1, Waited: time.Minute}
		if diff := cmp.Diff(want, get(t, q, "a")); diff != "" {
			t.Errorf("second run (-want +got):\n%s", diff)
		}
	})
}

func TestLowPriorityKeyDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		start := time.Now()
		q.Add("low", applier.Low, "")
		q.Add("high", applier.High, "")
		for {
			item, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if item.Key == "low" {
				break
			}
			q.Add(item.Key, applier.High, "")
			time.Sleep(100 * time.Millisecond)
			q.Done(item.Key)
		}
		// low has aged after the tenth turn, and the twelfth is a fourth one.
		if got, want := time.Since(start), 1100*time.Millisecond; got != want {
			t.Errorf("low had its turn after %v, want %v", got, want)
		}
	})
}

func TestAgedFloodDoesNotDelayEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		for i := range 1000 {
			q.Add(fmt.Sprint("flood ", i), applier.Low, "")
		}
		time.Sleep(time.Hour)
		for i := range 100 {
			event := fmt.Sprint("event ", i)
			q.Add(event, applier.Normal, "")
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
		in   applier.Options
	}{
		{"a negative base delay", applier.Options{Backoff: applier.Backoff{InitialBackoff: -1}}},
		{"a negative maximum delay", applier.Options{Backoff: applier.Backoff{MaxBackoff: -1}}},
		{"a maximum delay below the base", applier.Options{Backoff: applier.Backoff{InitialBackoff: 2, MaxBackoff: 1}}},
		{"a negative jitter", applier.Options{Backoff: applier.Backoff{Jitter: -0.1}}},
		{"a jitter above one", applier.Options{Backoff: applier.Backoff{Jitter: 1.1}}},
		{"a jitter that is not a number", applier.Options{Backoff: applier.Backoff{Jitter: math.NaN()}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%+v) did not panic", test.in)
				}
			}()
			applier.New[string, string](&test.in)
		})
	}
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		defer q.Close()
		want := func(when string, want applier.Stats) {
			t.Helper()
			if diff := cmp.Diff(want, q.Stats()); diff != "" {
				t.Errorf("Stats() %s (-want +got):\n%s", when, diff)
			}
			if adds, retries, overdue := q.Totals(); adds != want.Adds || retries != want.Retries || overdue != want.Overdue {
				t.Errorf("Totals() %s = %d, %d, %d; want those of %+v", when, adds, retries, overdue, want)
			}
		}
		want("at first", applier.Stats{})
		q.Add("a", applier.Low, "")
		q.Add("a", applier.Low, "")
		time.Sleep(time.Second)
		q.Add("b", applier.High, "")
		q.AddAfter("c", applier.Normal, "", time.Minute)
		want("after adds", applier.Stats{Ready: 2, Delayed: 1, OldestWait: time.Second, Adds: 2})
		get(t, q, "b")
		q.Retry("b", applier.High, "", time.Hour)
		want("during a run", applier.Stats{Ready: 1, Running: 1, Delayed: 2, OldestWait: time.Second, Adds: 2, Retries: 1})
		q.Done("b")
		time.Sleep(time.Minute)
		want("after a delay", applier.Stats{Ready: 2, Delayed: 1, OldestWait: 61 * time.Second, Adds: 3, Retries: 1})
	})
}

func TestRunReceivesTheCausesOfItsAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](nil)
		wantCauses := func(dropped int, want ...string) {
			t.Helper()
			item := get(t, q, "a")
			got := append([]string{item.Cause}, item.Others...)
			if diff := cmp.Diff(want, got); diff != "" || item.Dropped != dropped {
				t.Errorf("%d causes were dropped, want %d; (-want +got):\n%s", item.Dropped, dropped, diff)
			}
		}
		q.Add("a", applier.Normal, "first")
		q.Add("a", applier.High, "second")
		wantCauses(0, "first", "second")
		q.Add("a", applier.Normal, "during the run")
		q.AddAfter("a", applier.Normal, "later", time.Minute)
		q.AddAfter("a", applier.Normal, "later, too", time.Second)
		q.Retry("a", applier.Normal, "failed", time.Second)
		q.Done("a")
		wantCauses(0, "during the run")
		q.Retry("a", applier.Normal, "failed again", time.Second)
		time.Sleep(time.Second)
		q.Done("a")
		wantCauses(0, "later", "failed again")
		for i := range 20 {
			q.Add("a", applier.Normal, strconv.Itoa(i))
		}
		q.Done("a")
		wantCauses(12, "0", "1", "2", "3", "4", "5", "6", "7")
		q.Done("a")
		q.Add("a", applier.Normal, "dropped with its key")
		q.Own(func(string) bool { return false })
		q.Own(nil)
		q.Add("a", applier.Normal, "new")
		wantCauses(0, "new")
	})
}

func TestDebouncedKeyIsReadyAfterItsQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := applier.New[string, string](&applier.Options{Debounce: time.Second, MaxDebounce: 3 * time.Second})
		defer q.Close()
		addFor := func(d time.Duration) {
			for range d / (500 * time.Millisecond) {
				q.Add("a", applier.Low, "changed")
				time.Sleep(500 * time.Millisecond)
			}
		}
		addFor(time.Second)
		wantNothing(t, q)
		time.Sleep(500 * time.Millisecond)
		if item := get(t, q, "a"); item.Priority != applier.Low || item.Waited != 0 || len(item.Others) != 1 {
			t.Errorf("got %+v, want both causes", item)
		}
		addFor(3 * time.Second) // during the run, and longer than the quiet time
		q.Done("a")
		run(t, q, "a")
		wantNothing(t, q)

		q.Add("a", applier.Normal, "changed")
		q.Add("a", applier.High, "urgent")
		run(t, q, "a") // which is for the debounced add, too
		q.Add("a", applier.Normal, "changed")
		q.AddAfter("a", applier.Normal, "requested", time.Millisecond)
		time.Sleep(time.Millisecond)
		run(t, q, "a")
		time.Sleep(time.Hour)
		wantNothing(t, q)
	})
}
