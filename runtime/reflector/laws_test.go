// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/bubble"
	"github.com/kube-go/sdk/runtime/reflector"
)

// The tests of this file state laws of the package. tools/arch/laws.go names the tests of all laws.

func TestIndexFunctionIsCalledOnceForEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		reflected, store := reflect(server)
		var calls []string
		count := func(when string) func(*corev1.ConfigMap) []string {
			return func(obj *corev1.ConfigMap) []string {
				calls = append(calls, fmt.Sprint(when, " ", obj.Name, "=", obj.Data["value"]))
				return []string{"all"}
			}
		}
		want := func(want ...string) {
			t.Helper()
			slices.Sort(calls)
			if !slices.Equal(calls, want) {
				t.Errorf("the calls are %q, want %q", calls, want)
			}
			calls = nil
		}
		index := reflector.IndexBy(store, count("before"))
		runUntilEnd(t, reflected)
		want("before a=first", "before b=first")
		reflector.IndexBy(store, count("after"))
		want("after a=first", "after b=first")
		server.Put(configMap("prod/a", "second"))
		server.Delete(ref("prod/b"))
		synctest.Wait()
		want("after a=second", "before a=second")
		server.Compact() // the next change is a new list
		server.Cut(errStop)
		synctest.Wait()
		want()
		if n := index.Len("all"); n != 1 {
			t.Errorf("the index has %d objects, want 1", n)
		}
	})
}

func TestObserverIsNotifiedOfVersionsListsAndObjectsThatNoLongerExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		reflected, store := reflect(server)
		var events []string
		o := reflector.Observer{
			Seen:   func(version string) { events = append(events, "seen "+version) },
			Listed: func(version string) { events = append(events, "listed "+version) },
			Merged: func(version string) { events = append(events, "merged "+version) },
			Gone: func(object wire.Packed) {
				head, err := object.Head()
				events = append(events, fmt.Sprint("gone ", head.Ref, " ", head.UID, " ", err))
			},
		}
		want := func(want ...string) {
			t.Helper()
			if !slices.Equal(events, want) {
				t.Errorf("the observer received %q, want %q", events, want)
			}
			events = nil
		}
		defer store.Observe(o)()
		want() // no version yet
		runUntilEnd(t, reflected)
		version := store.ResourceVersion()
		// In this order, so that Seen implies that the others were called.
		want("listed "+version, "merged "+version, "seen "+version)
		stop := store.Observe(o)
		want("seen " + version)
		stop()
		changed := server.Put(configMap("prod/a", "second"))
		deleted := server.Delete(ref("prod/b"))
		synctest.Wait()
		want("seen "+changed, "gone prod/b uid-2 <nil>", "seen "+deleted)
		server.Compact()
		server.Cut(errStop) // the next change is a new list
		server.Delete(ref("prod/a"))
		time.Sleep(time.Minute)
		version = store.ResourceVersion()
		want("gone prod/a uid-1 <nil>", "listed "+version, "merged "+version, "seen "+version)
	})
}

func TestResetDiscardsObjectsThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reflected, store := reflect(newServer(t, wire.JSON, "prod/a"))
		stop := runUntilEnd(t, reflected)
		if reflected.Reset() || store.Len() != 1 {
			t.Error("Reset has discarded the objects of a running reflector")
		}
		if err := stop(); err != errStop {
			t.Fatal(err)
		}
		sub := subscribe(t, store)
		sub.want("initial ADDED prod/a - uid-1=first")
		if reflected.Reset() || store.Len() != 1 {
			t.Error("Reset has discarded the objects of a subscriber")
		}
		sub.cancel(errStop)
		for range 2 { // the Bookmark, and the end
			_, _, _ = sub.next()
		}
		if !reflected.Reset() || store.Len() != 0 {
			t.Error("Reset has not discarded the objects")
		}
		if _, err := store.Get(ref("prod/a")); !errors.Is(err, reflector.ErrNotReady) {
			t.Errorf("Get() = %v after Reset, want ErrNotReady", err)
		}
		runUntilEnd(t, reflected)
		if store.Len() != 1 {
			t.Error("the next Run has not listed the objects again")
		}
	})
}

func TestOnlyTheCallersOfAReflectorHaveGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := bubble.Goroutines()
		reflected, store := reflect(newServer(t, wire.JSON, "prod/a"))
		reflector.IndexBy(store, uses)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- reflected.Run(ctx) }()
		go func() {
			for _, err := range store.Subscribe(ctx) {
				if err != nil {
					ended <- err
				}
			}
		}()
		synctest.Wait()
		if n := bubble.Goroutines(); n != before+2 || store.Len() != 1 {
			t.Errorf("%d goroutines, want those of Run and Subscribe", n-before)
		}
		cancel(errStop)
		for range 2 {
			if err := <-ended; err != errStop {
				t.Errorf("got %v, want the cause", err)
			}
		}
	})
}
