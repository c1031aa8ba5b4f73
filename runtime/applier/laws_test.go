// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/internal/bubble"
)

// The tests of this file state laws of the package. tools/arch/laws.go names the tests of all laws.

func TestOnlyOneWorkerHasAKeyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](nil)
		a.Add("a", applier.Normal, "")
		get(t, a, "a")
		a.Add("a", applier.High, "")
		second := goGet(t.Context(), a)
		synctest.Wait()
		select {
		case err := <-second:
			t.Fatalf("a second worker got the key, %v", err)
		default:
		}
		a.Done("a")
		if err := <-second; err != nil {
			t.Errorf("Get() = %v after Done", err)
		}
	})
}

func TestAddsForAHeldKeyCollapseIntoOneMoreRun(t *testing.T) {
	a := applier.New[string, string](nil)
	defer a.Close()
	write(t, a, "a", applier.Write{Version: 7})
	for range 3 {
		a.Add("a", applier.Normal, "changed")
		wantNothing(t, a)
	}
	a.Seen(0, 7)
	if item := get(t, a, "a"); len(item.Others) != 2 {
		t.Errorf("got %+v, want the three causes", item)
	}
	a.Done("a")
	wantNothing(t, a)
}

func TestKeysOfOnePriorityAreHandedOutInTheOrderOfTheirAdds(t *testing.T) {
	a := applier.New[string, string](nil)
	keys := []string{"c", "a", "d", "b"}
	for _, key := range keys {
		a.Add(key, applier.Normal, "")
	}
	a.Add("c", applier.Normal, "") // it waits already, and keeps its place
	for _, key := range keys {
		run(t, a, key)
	}
}

func TestKeyWhosePriorityRisesIsTheLastOfItsNewPriority(t *testing.T) {
	a := applier.New[string, string](nil)
	a.Add("raised", applier.Low, "")
	a.Add("first", applier.High, "")
	a.Add("raised", applier.High, "")
	a.Add("raised", applier.Low, "") // it keeps the highest priority
	a.Add("last", applier.High, "")
	for _, key := range []string{"first", "raised", "last"} {
		if item := get(t, a, key); item.Priority != applier.High {
			t.Errorf("%s has the priority %d, want the highest", key, item.Priority)
		}
		a.Done(key)
	}
}

func TestForgottenSourceHoldsNoKeys(t *testing.T) {
	a := applier.New[string, string](nil)
	defer a.Close()
	write(t, a, "a", applier.Write{Source: 1, Version: 7}, applier.Write{Source: 1, UID: "1"})
	write(t, a, "b", applier.Write{Source: 1, Version: 7}, applier.Write{Source: 2, Version: 7})
	wantHeld(t, a, 2)
	a.Forget(1)
	wantHeld(t, a, 1)
	a.Add("a", applier.Normal, "")
	run(t, a, "a")
	a.Seen(2, 7)
	wantHeld(t, a, 0)
}

func TestRetriesAndDelayedAddsAreNotDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := applier.New[string, string](&applier.Options{
			Debounce: time.Hour, Backoff: applier.Backoff{InitialBackoff: time.Second},
		})
		defer a.Close()
		a.Add("a", applier.High, "") // not debounced either
		wantDelay(t, fail(t, a, "a", 0), time.Second)
		time.Sleep(time.Second)
		run(t, a, "a")
		a.AddAfter("a", applier.Normal, "requested", time.Minute)
		time.Sleep(time.Minute)
		run(t, a, "a")
	})
}

func TestOverdueKeysAreReportedByWorkersAndNotByOtherCallers(t *testing.T) {
	for name, call := range map[string]func(*applier.Applier[string, string]){
		"Add":      func(a *applier.Applier[string, string]) { a.Add("c", applier.Normal, "") },
		"AddAfter": func(a *applier.Applier[string, string]) { a.AddAfter("c", applier.Normal, "", time.Second) },
		"Own":      func(a *applier.Applier[string, string]) { a.Own(nil) },
		"Resize":   func(a *applier.Applier[string, string]) { a.Resize(5) },
		"Forget":   func(a *applier.Applier[string, string]) { a.Forget(0) },
		"Seen":     func(a *applier.Applier[string, string]) { a.Seen(0, 5) },
		"Stats":    func(a *applier.Applier[string, string]) { a.Stats() },
		"Held":     func(a *applier.Applier[string, string]) { a.Held(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := applier.New[string, string](&applier.Options{HoldTimeout: time.Minute})
				defer a.Close()
				reported := 0
				a.OnOverdue = func(applier.Overdue[string]) { reported++ }
				write(t, a, "a", applier.Write{Version: 5})
				time.Sleep(time.Minute)
				call(a)
				if reported != 0 {
					t.Error("the call has reported the overdue key")
				}
				a.Add("b", applier.High, "")
				run(t, a, "b")
				if reported != 1 {
					t.Errorf("the worker has reported %d overdue keys, want 1", reported)
				}
			})
		})
	}
}

func TestApplierStartsNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := bubble.Goroutines()
		a := applier.New[string, string](&applier.Options{Debounce: time.Second})
		write(t, a, "held", applier.Write{Version: 7})
		a.AddAfter("delayed", applier.Normal, "", time.Minute)
		a.Add("debounced", applier.Normal, "")
		waiting := goGet(t.Context(), a)
		synctest.Wait()
		if n := bubble.Goroutines(); n != before+1 {
			t.Errorf("%d goroutines, want that of Get", n-before)
		}
		a.Close()
		wantError(t, <-waiting, applier.ErrClosed)
	})
}
