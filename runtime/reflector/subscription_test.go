// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
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
		sub.want("DELETED prod/a uid-1=first -", "ADDED prod/b - uid-2=first")
		sub.wantNothing()
	})
}

func TestSubscriberBeforeTheFirstListReceivesTheBookmarkAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		r, store := reflect(server)
		sub := subscribe(t, store)
		go func() {
			synctest.Wait()
			_ = r.Run(t.Context()) // ends with the test
		}()
		sub.want("initial ADDED prod/a - uid-1=first", "initial ADDED prod/b - uid-2=first", "BOOKMARK")
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
		{"created, changed", false, []string{"1", "2"}, []string{"ADDED prod/a - uid-2=2"}},
		{"created, deleted", false, []string{"1", ""}, []string{"DELETED prod/a uid-2=1 -"}},
		{"created, changed, deleted", false, []string{"1", "2", ""}, []string{"DELETED prod/a uid-2=2 -"}},
		{"created, deleted, created", false, []string{"1", "", "2"}, []string{"MODIFIED prod/a uid-2=1 uid-3=2"}},
		{"created, deleted, created, deleted", false, []string{"1", "", "2", ""}, []string{"DELETED prod/a uid-3=2 -"}},
		{"changed", true, []string{"1"}, []string{"MODIFIED prod/a uid-2=0 uid-2=1"}},
		{"changed twice", true, []string{"1", "2"}, []string{"MODIFIED prod/a uid-2=0 uid-2=2"}},
		{"deleted", true, []string{""}, []string{"DELETED prod/a uid-2=0 -"}},
		{"changed, deleted", true, []string{"1", ""}, []string{"DELETED prod/a uid-2=0 -"}},
		{"replaced", true, []string{"", "1"}, []string{"MODIFIED prod/a uid-2=0 uid-3=1"}},
		{"replaced, changed", true, []string{"", "1", "2"}, []string{"MODIFIED prod/a uid-2=0 uid-3=2"}},
		{"replaced, deleted", true, []string{"", "1", ""}, []string{"DELETED prod/a uid-2=0 -"}},
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
			sub.want("initial ADDED prod/b - uid-2=second", "MODIFIED prod/a uid-1=first uid-1=second", "BOOKMARK")
		} else {
			sub.want("initial ADDED prod/a - uid-1=second", "BOOKMARK", "MODIFIED prod/b uid-2=first uid-2=second")
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
		slow.want("BOOKMARK", "MODIFIED prod/a uid-1=first uid-1=b")
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
