// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

func TestRelistKeepsUnchangedEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b", "prod/c")
		r, store := reflect(server)
		stop := runUntilEnd(t, r)
		before := store.State(ref("prod/a")).Packed()
		if err := stop(); err != errStop {
			t.Errorf("Run ended with %v, want the cause", err)
		}
		server.Put(configMap("prod/b", "second"))
		server.Delete(ref("prod/c"))
		server.Put(configMap("prod/d", "first"))
		runUntilEnd(t, r)
		wantNames(t, store, nil, "prod/a", "prod/b", "prod/d")
		after := store.State(ref("prod/a")).Packed()
		if &before.Bytes()[0] != &after.Bytes()[0] {
			t.Error("the entry of an unchanged object was replaced")
		}
	})
}

func TestRelistDeliversMissedChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b", "prod/c", "prod/d")
		r, store := reflect(server)
		stop := runUntilEnd(t, r)
		sub := subscribe(t, store)
		for range 5 { // four objects and the Bookmark
			if _, err, _ := sub.next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := stop(); err != errStop {
			t.Errorf("Run ended with %v, want the cause", err)
		}
		server.Put(configMap("prod/b", "second"))
		server.Delete(ref("prod/c"))
		server.Delete(ref("prod/d"))
		server.Put(configMap("prod/d", "replaced"))
		server.Put(configMap("prod/e", "first"))
		runUntilEnd(t, r)
		sub.want(
			"MODIFIED prod/b uid-2=first uid-2=second",
			"MODIFIED prod/d uid-4=first uid-5=replaced",
			"ADDED prod/e - uid-6=first",
			"DELETED prod/c uid-3=first -",
		)
		sub.wantNothing()
	})
}

func TestInterruptedListRemovesNoObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		r, store := reflect(server)
		if err := runUntilEnd(t, r)(); err != errStop {
			t.Errorf("Run ended with %v, want the cause", err)
		}
		items := 0
		server.Delete(ref("prod/a"))
		server.Put(configMap("prod/a0", "first"))
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				if items++; items == 2 {
					return p, errors.New("cut")
				}
				return p, nil
			},
		})
		runUntilEnd(t, r)
		wantNames(t, store, nil, "prod/a", "prod/a0", "prod/b") // half of a list
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantNames(t, store, nil, "prod/a0", "prod/b")
	})
}

func TestObjectThatIsListedAndDeletedInTheSameListIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored})
		r, store := reflect(server)
		runUntilEnd(t, r)
		server.Delete(ref("prod/a"))
		synctest.Wait()
		if n := store.Len(); n != 1 {
			t.Errorf("Len() = %d, want 1", n)
		}
		if rv := store.ResourceVersion(); rv != "" {
			t.Errorf("ResourceVersion() = %s of an incomplete list, want none", rv)
		}
		server.Delete(ref("prod/b"))
		time.Sleep(time.Minute)
		synctest.Wait()
		wantNames(t, store, nil)
	})
}

func TestObjectThatIsDamagedInAListKeepsItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a", "prod/b")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		var reported []string
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{OnError: func(err error) {
			reported = append(reported, err.Error())
		}}})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		if err := runUntilEnd(t, r)(); err != errStop {
			t.Errorf("Run ended with %v, want the cause", err)
		}
		sub := subscribe(t, store)
		for range 3 { // two objects, and the Bookmark
			if _, err, _ := sub.next(); err != nil {
				t.Fatal(err)
			}
		}
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				head, err := p.Head()
				if err != nil || head.Ref.Name != "a" {
					return p, err
				}
				metadata := "\x0a\x01a\x1a\x04prod\x2a\x05uid-1\x32\x01\x32\xff" // with half a tag at the end
				return wire.NewPacked(wire.Protobuf, []byte("\x0a"+string(rune(len(metadata)))+metadata)), nil
			},
		})
		runUntilEnd(t, r)
		wantNames(t, store, nil, "prod/a", "prod/b")
		sub.wantNothing()
		if len(reported) != 1 || !strings.Contains(reported[0], "skip configmaps prod/a: compact protobuf object") {
			t.Errorf("the errors are %q, want one of prod/a", reported)
		}
	})
}

func TestReadyWaitsForEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r, store := reflect(server)
		look, stopLooking := context.WithCancel(t.Context())
		stopLooking() // what waits with it only looks
		ready := func() (run, ever bool) {
			_, err := store.Get(ref("prod/missing"))
			return store.Ready(look) == nil, !errors.Is(err, reflector.ErrNotReady)
		}
		if run, ever := ready(); run || ever {
			t.Errorf("ready %v, ever %v before the first run", run, ever)
		}
		stop := runUntilEnd(t, r)
		if run, ever := ready(); !run || !ever {
			t.Errorf("ready %v, ever %v in the first run", run, ever)
		}
		if err := stop(); err != errStop {
			t.Errorf("Run ended with %v, want the cause", err)
		}
		if run, ever := ready(); run || !ever {
			t.Errorf("ready %v, ever %v between two runs", run, ever)
		}
		runUntilEnd(t, r)
		if run, ever := ready(); !run || !ever {
			t.Errorf("ready %v, ever %v in the second run", run, ever)
		}
	})
}

func TestHealthReturnsTheLastErrorUntilRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		reported := make(chan error, 100)
		r := reflector.New(server, &reflector.Options{
			Watch: watcher.Options{OnError: func(err error) { reported <- err }},
		})
		runUntilEnd(t, r)
		if err := r.Health(); err != nil {
			t.Errorf("Health() = %v at the start", err)
		}
		server.Cut(fakesource.Expired())
		synctest.Wait()
		if err := r.Health(); !errors.Is(err, core.ErrExpired) {
			t.Errorf("Health() = %v, want the error", err)
		}
		if err := <-reported; !errors.Is(err, core.ErrExpired) {
			t.Errorf("reported %v, want the error", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := r.Health(); err != nil {
			t.Errorf("Health() = %v after recovery", err)
		}
	})
}

func TestInvalidRequestEndsRunAndAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		invalid := &request.InvalidError{Field: "namespace", Detail: "is empty"}
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return invalid }})
		r, store := reflect(server)
		waiting := make(chan error, 2)
		go func() { waiting <- store.Ready(t.Context()) }()
		go func() {
			for _, err := range store.Subscribe(t.Context()) {
				waiting <- err
			}
		}()
		synctest.Wait()
		if err := r.Run(t.Context()); err != invalid {
			t.Errorf("Run() = %v, want %v", err, invalid)
		}
		for range 2 {
			if err := <-waiting; !errors.Is(err, invalid) {
				t.Errorf("a waiter got %v, want %v", err, invalid)
			}
		}
		if err := store.WaitForVersion(t.Context(), "1"); !errors.Is(err, invalid) {
			t.Errorf("WaitForVersion() = %v, want %v", err, invalid)
		}
		server.Behave(fakesource.Behaviour{})
		runUntilEnd(t, r)
		if err := store.Ready(t.Context()); err != nil {
			t.Errorf("after a successful Run: %v", err)
		}
		sub := subscribe(t, store)
		sub.want("BOOKMARK")
		sub.wantNothing()
	})
}

func TestConcurrentRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := reflect(newServer(t, wire.JSON))
		runUntilEnd(t, r)
		if err := r.Run(t.Context()); err == nil {
			t.Error("the second Run returned no error")
		}
	})
}

// TestHealthIsThatOfTheCurrentRun checks that the next run, which may have other permissions, does not begin with the
// error of the last one.
func TestHealthIsThatOfTheCurrentRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		refuse := func() error { return core.ErrForbidden }
		server.Behave(fakesource.Behaviour{
			OnList:  func(*request.ListOptions) error { return refuse() },
			OnWatch: func(*request.WatchOptions) error { return refuse() },
		})
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{OnError: func(error) {}}})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		end := runUntilEnd(t, r)
		if err := r.Health(); !errors.Is(err, core.ErrForbidden) {
			t.Errorf("Health() = %v during the run, want ErrForbidden", err)
		}
		_ = end()
		if s := r.Status(); s.Err != nil || s.Failures != 0 {
			t.Errorf("Status() = %+v after the run, want no error", s)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := store.Ready(ended); !errors.Is(err, core.ErrForbidden) {
			t.Errorf("Ready() = %v after the run, want its last error", err)
		}

		invalid := &request.InvalidError{Field: "x", Detail: "is invalid"}
		refuse = func() error { return invalid }
		if err := runUntilEnd(t, r)(); err != invalid && !errors.Is(err, invalid) || r.Health() == nil {
			t.Errorf("Run() = %v, Health() = %v, want the error of the request", err, r.Health())
		}
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			if err := r.Health(); err != nil {
				t.Errorf("Health() = %v at the start of a run, want that of this run", err)
			}
			return nil
		}})
		_ = runUntilEnd(t, r)()
	})
}

func TestListsOfAllRunsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r := reflector.New(server, nil)
		reflector.StoreOf[metav1.PartialObjectMetadata](r)
		for run := range 3 {
			end := runUntilEnd(t, r)
			if run == 2 {
				reflector.StoreOf[corev1.ConfigMap](r) // another form: the objects are listed again
				synctest.Wait()
			}
			_ = end()
			if got, want := r.Status().Lists, []int{1, 2, 4}[run]; got != want {
				t.Errorf("%d lists after run %d, want %d", got, run, want)
			}
		}
	})
}
