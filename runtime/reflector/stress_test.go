// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

// TestConcurrentUse runs everything at the same time, for the race detector: a server with changes, readers, waiters,
// and subscribers that start and stop.
func TestConcurrentUse(t *testing.T) {
	const writes, objects = 2000, 20
	server := newServer(t, wire.Protobuf)
	r, store := reflect(server)
	ctx, cancel := context.WithCancelCause(t.Context())
	var watching, working sync.WaitGroup
	watching.Go(func() {
		if err := r.Run(ctx); err != errStop {
			t.Errorf("Run ended with %v", err)
		}
	})
	working.Go(func() { write(t, server, store, writes, objects) })
	for range 2 {
		working.Go(func() { read(t, store, writes/10) })
		working.Go(func() { readShared(t, reflector.Decoded(store), writes/10) })
		working.Go(func() { comeAndGo(t, store, writes/20) })
	}
	followed := &folder{t: t, state: make(map[core.ObjectRef]wire.Head)}
	received := &folder{t: t, state: make(map[core.ObjectRef]wire.Head)}
	watching.Go(func() { _ = store.Follow(ctx, received.take) }) // the cause of ctx
	caughtUp := make(chan struct{})
	watching.Go(func() {
		done := false
		for c, err := range store.Subscribe(ctx) {
			if err != nil {
				return
			}
			followed.take(c)
			if !done && c.Ref == ref("prod/last") {
				done = true
				close(caughtUp)
			}
		}
	})
	working.Wait()
	if err := store.WaitForVersion(ctx, server.Put(configMap("prod/last", "last"))); err != nil {
		t.Fatal(err)
	}
	<-caughtUp // changes are ordered, so all others have arrived
	cancel(errStop)
	watching.Wait()
	if got, want := fmt.Sprint(followed.state), fmt.Sprint(server.Objects()); got != want {
		t.Errorf("the subscriber has %s, the server has %s", got, want)
	}
	if diff := cmp.Diff(followed.state, received.state); diff != "" {
		t.Errorf("(-subscriber +follower):\n%s", diff)
	}
	if err := r.Health(); err != nil {
		t.Error(err)
	}
}

// write changes objects, and reads every tenth back.
func write(t *testing.T, server *fakesource.Server, store *reflector.Store[corev1.ConfigMap], writes, objects int) {
	for i := range writes {
		obj := fmt.Sprintf("prod/%d", i%objects)
		if i%3 == 0 {
			server.Delete(ref(obj))
			continue
		}
		version := server.Put(configMap(obj, fmt.Sprint(i)))
		if i%10 != 0 {
			continue
		}
		if err := store.WaitForVersion(t.Context(), version); err != nil {
			t.Error(err)
		}
		if got, err := store.Get(ref(obj)); err != nil || got.ResourceVersion != version {
			t.Errorf("got %v, %v, want version %s", got, err, version)
		}
	}
}

func read(t *testing.T, store *reflector.Store[corev1.ConfigMap], times int) {
	if err := store.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range times {
		if obj, err := store.Get(ref(fmt.Sprintf("prod/%d", i%20))); err == nil {
			obj.Data["value"] = "mine"
		} else if !errors.Is(err, core.ErrNotFound) {
			t.Error(err)
		}
		for obj, err := range store.All(&reflector.SelectOptions{Namespace: "prod"}) {
			if err != nil {
				t.Error(err)
			}
			obj.Labels["value"] = "mine"
		}
		store.Len()
		store.ResourceVersion()
	}
}

// readShared reads a decoded store.
func readShared(t *testing.T, store *reflector.Store[corev1.ConfigMap], times int) {
	for range times {
		for obj, err := range store.All(nil) {
			if err != nil && !errors.Is(err, reflector.ErrNotReady) {
				t.Error(err)
			} else if err == nil && obj.Data["value"] != obj.Labels["value"] {
				t.Errorf("%s has %v and the labels %v", core.RefOf(obj), obj.Data, obj.Labels)
			}
		}
	}
}

// comeAndGo repeatedly subscribes until it has received the existing objects.
func comeAndGo(t *testing.T, store *reflector.Store[corev1.ConfigMap], times int) {
	for range times {
		f := &folder{t: t, state: make(map[core.ObjectRef]wire.Head)}
		for c, err := range store.Subscribe(t.Context()) {
			if err != nil {
				t.Error(err)
				return
			}
			if f.take(c); c.Type == core.Bookmark {
				break
			}
		}
	}
}
