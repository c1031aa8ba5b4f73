// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/queue"
)

// fail gets the key, fails its run, and returns the delay of the retry.
func fail(t testing.TB, q *queue.Queue[string], key string, atLeast time.Duration) time.Duration {
	t.Helper()
	get(t, q, key)
	defer q.Done(key)
	return q.Retry(key, queue.Normal, atLeast)
}

func TestTheBackOffDoublesUpToItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New[string](&queue.Options{BaseDelay: time.Second, MaxDelay: 10 * time.Second})
		defer q.Close()
		q.Add("a", queue.Normal)
		for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			want *= time.Second
			if got := fail(t, q, "a", 0); got != want {
				t.Errorf("Retry() = %v, want %v", got, want)
			}
			failed := time.Now()
			item := get(t, q, "a")
			if got := time.Since(failed); got != want {
				t.Errorf("the retry came after %v, want %v", got, want)
			}
			q.Add("a", queue.Normal) // so that fail has a run to fail, with the failure before it still standing
			q.Retry("a", item.Priority, 0)
			q.Done("a")
		}
	})
}
