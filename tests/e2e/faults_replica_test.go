// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/reflector"
)

// replica is the objects of one kind in a view, in a decoded store and in the memory of a subscriber. All must equal
// those of the server.
type replica[K any, P core.ObjectPtr[K]] struct {
	api     *kube.API[K]
	view    *kube.View[K]
	decoded *kube.Store[K]

	mu    sync.Mutex // guards known
	known map[kube.ObjectRef]reflector.State
}

// replicate runs a view, and a subscriber that applies each change to its own objects. It checks that each change
// continues the previous one of the same object, so that none is lost or repeated.
func replicate[K any, P core.ObjectPtr[K]](
	t *testing.T, run func(func(context.Context) error), api *kube.API[K], view *kube.View[K],
) *replica[K, P] {
	t.Helper()
	r := &replica[K, P]{
		api: api, view: view, decoded: kube.Decoded(view).Store(), known: map[kube.ObjectRef]reflector.State{},
	}
	run(view.Run)
	run(func(ctx context.Context) error {
		for c, err := range view.Subscribe(ctx) {
			if err == nil && c.Type != kube.Bookmark {
				err = r.apply(c)
			}
			if err != nil {
				return err
			}
		}
		return errors.New("the subscription has ended without an error")
	})
	return r
}

func (r *replica[K, P]) apply(c reflector.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.known[c.Ref]
	if known != (c.Type != kube.Added) && c.Type != kube.Deleted && !isReplacement(c) {
		return fmt.Errorf("received %s of %s; known before: %t", c.Type, c.Ref, known)
	}
	if known && !bytes.Equal(before.Packed().Bytes(), c.Old.Packed().Bytes()) {
		return fmt.Errorf("%s of %s begins with %s, but the last change ended with %s",
			c.Type, c.Ref, identity(c.Old), identity(before))
	}
	delete(r.known, c.Ref)
	if !c.New.Exists() {
		return nil
	}
	r.known[c.Ref] = c.New
	if known && !newer(c.New, before) {
		return fmt.Errorf("%s of %s goes from %s back to %s", c.Type, c.Ref, identity(before), identity(c.New))
	}
	return nil
}

// isReplacement reports whether a change is from one object to another one with the same name. The subscriber need not
// have received the old one.
func isReplacement(c reflector.Change) bool {
	before, errBefore := c.Old.Head()
	after, errAfter := c.New.Head()
	return errBefore == nil && errAfter == nil && before.UID != after.UID
}

// identity returns the UID and the resource version of a state.
func identity(s reflector.State) string {
	head, err := s.Head()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s at version %s", head.UID, head.ResourceVersion)
}

// newer reports whether a state has a higher resource version than another one.
func newer(s, than reflector.State) bool {
	a, errA := s.Head()
	b, errB := than.Head()
	return errA == nil && errB == nil && version(a.ResourceVersion) > version(b.ResourceVersion)
}

func version(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// check returns an error unless the stores and the subscriber have exactly the objects of the server.
func (r *replica[K, P]) check(ctx context.Context) error {
	list, err := r.api.List(ctx, nil)
	if err != nil {
		return err
	}
	server := map[kube.ObjectRef]*K{}
	for _, obj := range list.Items {
		P(obj).SetManagedFields(nil)
		server[kube.RefOf(P(obj))] = obj
	}
	for _, s := range []*kube.Store[K]{r.view.Store(), r.decoded} {
		store := map[kube.ObjectRef]*K{}
		for obj, err := range s.All(nil) {
			if err != nil {
				return err
			}
			store[kube.RefOf(P(obj))] = obj
		}
		if diff := cmp.Diff(server, store); diff != "" {
			return fmt.Errorf("%s, decoded=%t (-server +store):\n%.3000s", r.view.Resource(), s == r.decoded, diff)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, state := range r.known {
		stored := r.view.State(ref)
		if !bytes.Equal(stored.Packed().Bytes(), state.Packed().Bytes()) {
			return fmt.Errorf("the subscriber has %s %s %s, but the store has %s",
				r.view.Resource(), ref, identity(state), identity(stored))
		}
	}
	if len(r.known) != len(server) {
		return fmt.Errorf("the subscriber has %d %s, the server has %d", len(r.known), r.view.Resource(), len(server))
	}
	return nil
}
