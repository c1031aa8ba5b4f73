// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// follower watches the ConfigMaps of a namespace with one Watch and records the events.
type follower struct {
	changes chan string // such as "ADDED a=1"; DELETED has no value, because a watch may miss the last state
	listed  chan int    // number of changes before the end of each list
	trouble troubles
}

// follow starts a follower. It sets OnError of the options.
func follow(t *testing.T, api *kube.API[corev1.ConfigMap], c kube.WatchOptions) *follower {
	t.Helper()
	f := &follower{changes: make(chan string, 1000), listed: make(chan int, 100)}
	c.OnError = f.trouble.add
	background(t, func(ctx context.Context) error {
		n := 0
		for ev, err := range kube.Watch(ctx, api, &c) {
			switch {
			case err != nil:
				return err
			case ev.Type == kube.Bookmark && core.InitialEventsEnd(ev.Object):
				f.listed <- n
			case ev.Type == kube.Bookmark, ev.Object.Name == "kube-root-ca.crt": // it exists in every namespace
			case ev.Type == kube.Deleted:
				n++
				f.changes <- "DELETED " + ev.Object.Name
			default:
				n++
				f.changes <- fmt.Sprintf("%s %s=%s", ev.Type, ev.Object.Name, ev.Object.Data["v"])
			}
		}
		return errors.New("the watch has ended without an error")
	})
	return f
}

// expect waits for the wanted number of changes and compares them. Changes of different objects can be in any order.
func (f *follower) expect(t *testing.T, want ...string) {
	t.Helper()
	ctx := limit(t)
	var got []string
	for range want {
		select {
		case change := <-f.changes:
			got = append(got, change)
		case <-ctx.Done():
			t.Fatalf("changes = %q, want %q; errors: %v", got, want, f.trouble.all())
		}
	}
	byName := func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) }
	slices.SortStableFunc(got, byName)
	slices.SortStableFunc(want, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
}

// nameOf returns the name of the object in a change.
func nameOf(change string) string {
	_, object, _ := strings.Cut(change, " ")
	name, _, _ := strings.Cut(object, "=")
	return name
}

// inStep waits for the end of a list and returns the number of changes before it.
func (f *follower) inStep(t *testing.T) int {
	t.Helper()
	select {
	case n := <-f.listed:
		return n
	case <-limit(t).Done():
		t.Fatalf("the list did not end; errors: %v", f.trouble.all())
		return 0
	}
}
