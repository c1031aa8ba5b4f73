// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

func TestSubscriberReceivesExistingObjectsThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		sub := subscribe(t, run(t, server))
		sub.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
		server.Put(configMap("prod/a", "second"))
		server.Put(configMap("prod/b", "first"))
		server.Delete(ref("prod/a"))
		synctest.Wait()
		sub.want("DELETED prod/a uid-1=first - between uid-1=second", "ADDED prod/b - uid-2=first")
		sub.wantNothing()
	})
}

func TestSubscriberBeforeTheFirstListReceivesTheBookmarkAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r, store := reflect(server)
		sub := subscribe(t, store)
		go func() {
			synctest.Wait()
			_ = r.Run(t.Context()) // ends with the test
		}()
		sub.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
		sub.wantNothing()
	})
}

func TestSubscriberOfAnEmptyStoreReceivesTheBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sub := subscribe(t, run(t, newServer(t, wire.JSON)))
		sub.want("BOOKMARK")
		sub.wantNothing()
	})
}

// TestChangesOfOneObjectBecomeOne checks what a slow subscriber receives for one object.
func TestChangesOfOneObjectBecomeOne(t *testing.T) {
	const a = "prod/a"
	tests := []struct {
		name  string
		known bool // the subscriber has received the object
		ops   []string
		want  []string
	}{
		{"created", false, []string{"1"}, []string{"ADDED prod/a - uid-2=1"}},
		{"created, changed", false, []string{"1", "2"}, []string{"ADDED prod/a - uid-2=2 between uid-2=1"}},
		{"created, deleted", false, []string{"1", ""}, []string{"DELETED prod/a uid-2=1 -"}},
		{"created, changed, deleted", false, []string{"1", "2", ""}, []string{"DELETED prod/a uid-2=2 - between uid-2=1"}},
		{"created, deleted, created", false, []string{"1", "", "2"}, []string{"MODIFIED prod/a uid-2=1 uid-3=2"}},
		{"created, deleted, created, deleted", false, []string{"1", "", "2", ""}, []string{"DELETED prod/a uid-3=2 - between uid-2=1"}},
		{"changed", true, []string{"1"}, []string{"MODIFIED prod/a uid-2=0 uid-2=1"}},
		{"changed twice", true, []string{"1", "2"}, []string{"MODIFIED prod/a uid-2=0 uid-2=2 between uid-2=1"}},
		{"deleted", true, []string{""}, []string{"DELETED prod/a uid-2=0 -"}},
		{"changed, deleted", true, []string{"1", ""}, []string{"DELETED prod/a uid-2=0 - between uid-2=1"}},
		{"replaced", true, []string{"", "1"}, []string{"MODIFIED prod/a uid-2=0 uid-3=1"}},
		{"replaced, changed", true, []string{"", "1", "2"}, []string{"MODIFIED prod/a uid-2=0 uid-3=2 between uid-3=1"}},
		{"replaced, deleted", true, []string{"", "1", ""}, []string{"DELETED prod/a uid-2=0 - between uid-3=1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, wire.JSON, "prod/z")
				sub := subscribe(t, run(t, server))
				sub.want("initial ADDED prod/z - uid-1=first", "BOOKMARK")
				if test.known {
					server.Put(configMap(a, "0"))
					sub.want("ADDED prod/a - uid-2=0")
				}
				server.Put(configMap("prod/z", "second"))
				for _, value := range test.ops {
					if value == "" {
						server.Delete(ref(a))
					} else {
						server.Put(configMap(a, value))
					}
					synctest.Wait()
				}
				sub.want("MODIFIED prod/z uid-1=first uid-1=second")
				sub.want(test.want...)
				sub.wantNothing()
			})
		})
	}
}

func TestChangeWhileTheSubscriptionBeginsIsDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		sub := subscribe(t, run(t, server))
		told, err, _ := sub.next()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"prod/a", "prod/b"} {
			server.Put(configMap(name, "second"))
		}
		synctest.Wait()
		if told.Ref.Name == "a" {
			sub.want("initial ADDED prod/b - uid-2=second between uid-2=first", "MODIFIED prod/a uid-1=first uid-1=second", "BOOKMARK")
		} else {
			sub.want("initial ADDED prod/a - uid-1=second between uid-1=first", "BOOKMARK", "MODIFIED prod/b uid-2=first uid-2=second")
		}
		sub.wantNothing()
	})
}

func TestChangesTakeTurnsWithExistingObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 100
		server := newServer(t, wire.JSON)
		for i := range count {
			server.Put(configMap(fmt.Sprint("prod/", i), "first"))
		}
		sub := subscribe(t, run(t, server))
		first, err, _ := sub.next()
		if err != nil {
			t.Fatal(err)
		}
		live := make(map[core.ObjectRef]bool)
		for i := range 10 { // of objects that were delivered, that were not, and that are new
			name := fmt.Sprint("prod/", i*count/9)
			live[ref(name)] = true
			server.Put(configMap(name, "second"))
		}
		live[first.Ref] = true
		server.Put(configMap(first.Ref.String(), "second"))
		synctest.Wait()
		seen := map[core.ObjectRef]int{first.Ref: 1}
		for n := 1; ; n++ {
			c, err, _ := sub.next()
			if err != nil {
				t.Fatal(err)
			}
			if c.Type == core.Bookmark {
				break
			}
			if n > 2*len(live) && live[c.Ref] {
				t.Errorf("change %d is %s of %s, which changed before", n, c.Type, c.Ref)
			}
			seen[c.Ref]++
		}
		for i := range count {
			if r := ref(fmt.Sprint("prod/", i)); seen[r] != 1 && r != first.Ref || seen[first.Ref] != 2 {
				t.Errorf("%s was delivered %d times, and the first object %d times", r, seen[r], seen[first.Ref])
			}
		}
	})
}

func TestSlowSubscriberDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		store := run(t, server)
		slow, fast := subscribe(t, store), subscribe(t, store)
		slow.want("initial ADDED prod/a - uid-1=first")
		fast.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
		for i := range 1000 {
			server.Put(configMap("prod/a", string(rune('a'+i%2))))
			synctest.Wait()
			if c, err, _ := fast.next(); err != nil || c.Type != core.Modified {
				t.Fatalf("the fast subscriber got %v, %v", c, err)
			}
		}
		slow.want("BOOKMARK", "MODIFIED prod/a uid-1=first uid-1=b between"+strings.Repeat(" uid-1=b uid-1=a", 4))
		slow.wantNothing()
	})
}

func TestSubscriptionEndsWithTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		store := run(t, server)
		changes := store.Subscribe(t.Context())
		for range 2 { // each loop is a new subscription
			n := 0
			for c, err := range changes {
				if err != nil {
					t.Fatal(err)
				}
				if n++; c.Type == core.Bookmark {
					break
				}
			}
			if n != 2 {
				t.Errorf("%d changes, want the object and the bookmark", n)
			}
		}
	})
}

func TestStoreThatNeedsMoreWithinTheFirstListRemovesNoObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b", "prod/c")
		listed, blocked := 0, make(chan struct{})
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				if listed++; listed == 3 || listed == 5 { // the third object of the first list, the second one of the next
					<-blocked
				}
				return p, nil
			},
		})
		r := reflector.New(server, nil)
		lean := reflector.StoreOf[metav1.PartialObjectMetadata](r)
		var gone, got []string
		t.Cleanup(lean.Observe(reflector.Observer{
			Seen: func(string) {},
			Gone: func(p wire.Packed) { gone = append(gone, string(p.Bytes())) },
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(errStop)
		go func() {
			for c, err := range lean.Subscribe(ctx) {
				if err == nil {
					got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s", c.Type, c.Ref)))
				}
			}
		}()
		runUntilEnd(t, r)
		full := reflector.StoreOf[corev1.ConfigMap](r) // which needs another form
		var values []string
		go func() {
			for c, err := range full.Subscribe(ctx) {
				if err == nil {
					values = append(values, describe(t, c))
				}
			}
		}()
		byValue := reflector.IndexBy(full, func(obj *corev1.ConfigMap) []string { return []string{obj.Data["value"]} })
		blocked <- struct{}{}
		synctest.Wait()
		if _, err := lean.Get(ref("prod/b")); err != nil {
			t.Errorf("Get() = %v within the next list", err)
		}
		if _, err := full.Get(ref("prod/b")); !errors.Is(err, reflector.ErrNotReady) {
			t.Errorf("Get() = %v of the new store, want ErrNotReady", err)
		}
		close(blocked)
		synctest.Wait()
		want := []string{"ADDED prod/a", "ADDED prod/b", "ADDED prod/c", "BOOKMARK"}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(gone) > 0 {
			t.Errorf("the changes are %q, and the objects %q are gone; want %q", got, gone, want)
		}
		slices.Sort(values)
		want = []string{
			"BOOKMARK", "initial ADDED prod/a - uid-1=first", "initial ADDED prod/b - uid-2=first",
			"initial ADDED prod/c - uid-3=first",
		}
		if !slices.Equal(values, want) {
			t.Errorf("the changes of the new store are %q, want %q", values, want)
		}
		if obj, err := full.Get(ref("prod/b")); err != nil || obj.Data["value"] != "first" || byValue.Len("first") != 3 {
			t.Errorf("Get() = %v, %v; the index has %d objects", obj, err, byValue.Len("first"))
		}
	})
}
