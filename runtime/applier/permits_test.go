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

// wantHeld fails the test unless n keys are held.
func wantHeld(t testing.TB, a *applier.Applier[string, string], n int) {
	t.Helper()
	if got := a.Stats().Held; got != n {
		t.Errorf("%d keys are held, want %d", got, n)
	}
}

// write runs a key that writes.
func write(t testing.TB, a *applier.Applier[string, string], key string, writes ...applier.Write) {
	t.Helper()
	a.Add(key, applier.Normal, "")
	get(t, a, key)
	for _, w := range writes {
		a.Wrote(key, w)
	}
	a.Done(key)
}

func TestKeyIsHeldUntilAllItsWritesAreObserved(t *testing.T) {
	a := applier.New[string, string](nil)
	defer a.Close()
	write(t, a, "a", applier.Write{Source: 0, Version: 5}, applier.Write{Source: 0, Version: 7}, applier.Write{Source: 1, Version: 6})
	a.Add("a", applier.Normal, "")
	wantNothing(t, a)
	a.Seen(0, 6)
	a.Seen(1, 5)
	wantHeld(t, a, 1)
	a.Seen(0, 7)
	wantHeld(t, a, 1)
	a.Seen(1, 100)
	wantHeld(t, a, 0)
	run(t, a, "a")
	wantNothing(t, a)
}

func TestKeyIsHeldUntilTheDeletedObjectIsGone(t *testing.T) {
	a := applier.New[string, string](nil)
	defer a.Close()
	write(t, a, "a", applier.Write{UID: "u-1"})
	write(t, a, "b", applier.Write{UID: "u-1"}, applier.Write{UID: "u-2"})
	a.Seen(0, 1000)
	a.Gone(1, "u-1") // another source
	wantHeld(t, a, 2)
	a.Gone(0, "u-1")
	wantHeld(t, a, 1)
	a.Gone(0, "u-2")
	wantHeld(t, a, 0)
}

func TestHoldOfOneKeyDoesNotDelayOthers(t *testing.T) {
	a := applier.New[string, string](&applier.Options{Concurrency: 1})
	defer a.Close()
	write(t, a, "a", applier.Write{Version: 5})
	a.Add("b", applier.Normal, "")
	run(t, a, "b")
}

func TestHeldKeyIsReleasedAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](&applier.Options{HoldTimeout: time.Minute})
		overdue := make(chan applier.Overdue[string], 9)
		a.OnOverdue = func(o applier.Overdue[string]) { overdue <- o }
		defer a.Close()
		lost := applier.Write{Source: 2, Version: 5, Ref: core.ObjectRef{Name: "p"}}
		write(t, a, "a", lost, applier.Write{Version: 1})
		a.Seen(0, 1)
		a.Add("a", applier.Normal, "")
		began := time.Now()
		run(t, a, "a")
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the key was held for %v, want 1m", took)
		}
		want := applier.Overdue[string]{Key: "a", Writes: []applier.Write{lost}}
		if diff := cmp.Diff(want, <-overdue); diff != "" || len(overdue) > 0 || a.Stats().Overdue != 1 {
			t.Errorf("%d overdue (-want +got):\n%s", a.Stats().Overdue, diff)
		}
		a.Seen(2, 5) // has no effect any more
		wantHeld(t, a, 0)
	})
}

func TestNegativeHoldTimeoutDisablesHolds(t *testing.T) {
	a := applier.New[string, string](&applier.Options{HoldTimeout: -1})
	defer a.Close()
	write(t, a, "a", applier.Write{Version: 5})
	wantHeld(t, a, 0)
}

func TestDrainReleasesHeldKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](nil)
		write(t, a, "a", applier.Write{Version: 5})
		a.Add("a", applier.Normal, "")
		drained := make(chan error, 1)
		go func() { drained <- a.Drain(t.Context()) }()
		synctest.Wait()
		run(t, a, "a")
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

func TestKeyThatIsNotOwnedDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](nil)
		defer a.Close()
		a.Add("a", applier.Normal, "")
		a.Add("b", applier.Normal, "")
		a.AddAfter("a", applier.Normal, "", time.Second)
		a.Own(func(key string) bool { return key == "b" })
		run(t, a, "b")
		a.Add("a", applier.Normal, "")
		time.Sleep(time.Minute)
		wantNothing(t, a)
		a.Own(nil)
		wantNothing(t, a) // its changes were ignored
		a.Add("a", applier.Normal, "")
		run(t, a, "a")
	})
}

func TestAtMostConcurrencyKeysRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](&applier.Options{Concurrency: 2})
		defer a.Close()
		for _, key := range []string{"a", "b", "c", "d"} {
			a.Add(key, applier.High, "")
		}
		get(t, a, "a")
		get(t, a, "b")
		third := goGet(t.Context(), a)
		synctest.Wait()
		if s := a.Stats(); len(third) > 0 || s.Running != 2 || s.Ready != 2 {
			t.Fatalf("%+v, want two keys that run and two that wait", s)
		}
		a.Done("b")
		wantError(t, <-third, nil)
		if s := a.Stats(); s.Running != 2 || s.Ready != 1 {
			t.Errorf("%+v, want two keys that run and one that waits", s)
		}
	})
}

func TestResizeChangesTheNumberOfRunningKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](&applier.Options{Concurrency: 1})
		defer a.Close()
		for _, key := range []string{"a", "b", "c"} {
			a.Add(key, applier.Normal, "")
		}
		get(t, a, "a")
		waiting := goGet(t.Context(), a)
		synctest.Wait()
		if len(waiting) > 0 {
			t.Fatal("a second key runs, want 1 at most")
		}
		a.Resize(2)
		wantError(t, <-waiting, nil)
		a.Resize(1)
		waiting = goGet(t.Context(), a)
		a.Done("a")
		synctest.Wait()
		if len(waiting) > 0 {
			t.Fatal("a second key runs after the limit was lowered")
		}
		a.Done("b")
		wantError(t, <-waiting, nil)
	})
}
