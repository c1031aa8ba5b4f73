// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// following is the changes that a call of Follow has received.
type following struct {
	t     *testing.T
	got   []string
	ended chan error
	stop  context.CancelCauseFunc
}

func follow[K any](t *testing.T, store *reflector.Store[K]) *following {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	f := &following{t: t, ended: make(chan error, 1), stop: stop}
	go func() {
		f.ended <- store.Follow(ctx, func(c reflector.Change) { f.got = append(f.got, describe(t, c)) })
	}()
	t.Cleanup(func() { stop(nil) })
	synctest.Wait()
	return f
}

// want checks the changes since the last call.
func (f *following) want(want ...string) {
	f.t.Helper()
	synctest.Wait()
	if !slices.Equal(f.got, want) {
		f.t.Errorf("got %q, want %q", f.got, want)
	}
	f.got = nil
}

func TestFollowerReceivesEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		f := follow(t, run(t, server))
		f.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
		server.Put(configMap("prod/a", "second"))
		server.Put(configMap("prod/a", "third"))
		server.Put(configMap("prod/b", "first"))
		server.Delete(ref("prod/a"))
		f.want("MODIFIED prod/a uid-1=first uid-1=second", "MODIFIED prod/a uid-1=second uid-1=third",
			"ADDED prod/b - uid-2=first", "DELETED prod/a uid-1=third -")
		f.stop(errStop)
		if err := <-f.ended; err != errStop {
			t.Errorf("Follow() = %v, want the cause", err)
		}
		server.Put(configMap("prod/b", "second"))
		f.want()
	})
}

func TestFollowerBeforeTheFirstListReceivesTheBookmarkAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := reflect(newServer(t, wire.JSON, "prod/a"))
		f := follow(t, store)
		f.want()
		runUntilEnd(t, r)
		f.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
	})
}

func TestFollowerReceivesTheChangesThatAListShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		r, store := reflect(server)
		stop := runUntilEnd(t, r)
		f := follow(t, store)
		f.got = nil
		_ = stop() // the cause
		server.Delete(ref("prod/a"))
		server.Put(configMap("prod/c", "first"))
		runUntilEnd(t, r)
		f.want("ADDED prod/c - uid-3=first", "DELETED prod/a uid-1=first -")
	})
}

func TestFollowEndsWithTheErrorOfAnInvalidRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reflector.New(newServer(t, wire.JSON), &reflector.Options{Watch: watcher.Options{ResourceVersion: "7"}})
		f := follow(t, reflector.StoreOf[corev1.ConfigMap](r))
		want := r.Run(t.Context())
		if _, ok := errors.AsType[*request.InvalidError](want); !ok {
			t.Fatalf("Run() = %v of a reflector that begins without the objects, want an InvalidError", want)
		}
		if err := <-f.ended; !errors.Is(err, want) {
			t.Errorf("Follow() = %v, want %v", err, want)
		}
	})
}

func TestFollowerMayReadTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		store := run(t, server)
		var got []string
		go func() {
			_ = store.Follow(t.Context(), func(c reflector.Change) {
				if c.Type == core.Bookmark {
					return
				}
				obj, err := store.Get(c.Ref)
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, obj.Data["value"])
			})
		}()
		synctest.Wait()
		server.Put(configMap("prod/a", "first"))
		server.Put(configMap("prod/a", "second"))
		synctest.Wait()
		if want := []string{"first", "second"}; !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}

func TestWatchContinuesWhileAFollowerReceivesTheExistingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		store := run(t, server)
		var got []string
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- store.Follow(ctx, func(c reflector.Change) {
				if len(got) == 0 {
					for _, name := range []string{"prod/a", "prod/b"} {
						server.Put(configMap(name, "second"))
					}
					<-time.After(time.Second)
					for _, name := range []string{"prod/a", "prod/b"} {
						if cm, err := store.Get(ref(name)); err != nil || cm.Data["value"] != "second" {
							t.Errorf("Get(%s) = %v, %v during the first call, want the newest state", name, cm, err)
						}
					}
				}
				got = append(got, describe(t, c))
			})
		}()
		<-time.After(time.Minute)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow = %v, want context.Canceled", err)
		}
		first, its, other, others := "prod/a", "uid-1", "prod/b", "uid-2"
		if strings.Contains(got[0], other) {
			first, its, other, others = other, others, first, its
		}
		slices.Sort(got[1:])
		want := []string{
			"initial ADDED " + first + " - " + its + "=first",
			"BOOKMARK",
			"MODIFIED " + first + " " + its + "=first " + its + "=second",
			"initial ADDED " + other + " - " + others + "=second",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
