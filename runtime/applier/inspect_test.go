// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
)

func TestQueueAndHeldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](nil)
		take := func(key string) {
			t.Helper()
			if item, err := a.Get(t.Context()); err != nil || item.Key != key {
				t.Fatalf("Get() = %q, %v, want %q", item.Key, err, key)
			}
		}
		write := applier.Write{Source: 1, Ref: core.ObjectRef{Name: "x"}, Version: 7}
		for _, key := range []string{"a", "b"} {
			a.Add(key, applier.High, "")
			take(key)
			a.Wrote(key, write)
			a.Done(key)
			time.Sleep(time.Second)
		}
		a.Add("c", applier.Low, "")
		a.Add("d", applier.Low, "")
		a.Add("e", applier.High, "")
		a.Add("a", applier.High, "") // is held

		if diff := cmp.Diff([]applier.Level{{applier.High, 1}, {applier.Low, 2}}, a.Queue()); diff != "" {
			t.Errorf("Queue() (-want +got):\n%s", diff)
		}
		want := []applier.Held[string]{
			{Key: "a", Writes: []applier.Write{write}, Left: 3 * time.Second},
			{Key: "b", Writes: []applier.Write{write}, Left: 4 * time.Second},
		}
		if diff := cmp.Diff(want, a.Held(10)); diff != "" {
			t.Errorf("Held(10) (-want +got):\n%s", diff)
		}
		if got := a.Held(1); len(got) != 1 || got[0].Key != "a" {
			t.Errorf("Held(1) = %v", got)
		}
		a.Seen(1, 7)
		take("e")
		if diff := cmp.Diff([]applier.Level{{applier.High, 1}, {applier.Low, 2}}, a.Queue()); diff != "" {
			t.Errorf("Queue() after the write was observed (-want +got):\n%s", diff)
		}
		if got := a.Held(10); len(got) != 0 {
			t.Errorf("Held(10) = %v after the write was observed", got)
		}
		a.Close()
	})
}
