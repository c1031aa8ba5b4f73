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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

func ref(s string) core.ObjectRef { return core.ParseObjectRef(s) }

func TestGetReturnsAFreshObjectOfItsKind(t *testing.T) {
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		t.Run(encoding.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := run(t, newServer(t, encoding, "prod/a"))
				want := configMap("prod/a", "first")
				want.APIVersion, want.Kind = "v1", "ConfigMap"
				want.UID, want.ResourceVersion = "uid-1", "2"
				want.ManagedFields = nil
				for range 2 {
					got, err := store.Get(ref("prod/a"))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("Get (-want +got):\n%s", diff)
					}
					got.Data["value"] = "the reader's own" // must not affect other readers
					got.Labels["value"] = "the reader's own"
				}
			})
		})
	}
}

func TestStoreFollowsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b", "dev/a", "all")
		store := run(t, server)
		wantNames(t, store, nil, "all", "dev/a", "prod/a", "prod/b")
		server.Put(configMap("dev/b", "first"))
		server.Delete(ref("prod/b"))
		server.Delete(ref("all"))
		synctest.Wait()
		wantNames(t, store, nil, "dev/a", "dev/b", "prod/a")
		if n := store.Len(); n != 3 {
			t.Errorf("Len() = %d, want 3", n)
		}
		if rv := store.ResourceVersion(); rv != "8" {
			t.Errorf("ResourceVersion() = %s, want 8", rv)
		}
		if !store.Has(ref("dev/b")) || store.Has(ref("prod/b")) || store.Has(ref("b")) {
			t.Error("Has and Get disagree")
		}
		if s := store.State(ref("dev/b")); !s.Exists() || !strings.Contains(string(s.Packed().Bytes()), `"name":"b"`) {
			t.Errorf("State = %s", s.Packed().Bytes())
		}
		if s := store.State(ref("prod/b")); s.Exists() || s.Packed().Len() != 0 {
			t.Errorf("State of a deleted object = %s", s.Packed().Bytes())
		}
		if _, err := store.Get(ref("prod/b")); !errors.Is(err, core.ErrNotFound) || err.Error() != "configmaps prod/b: not found" {
			t.Errorf("Get of a deleted object: %v", err)
		}
	})
}

func TestAllSelects(t *testing.T) {
	tests := []struct {
		name string
		in   *reflector.SelectOptions
		want []string
	}{
		{"everything by default", nil, []string{"dev/a", "prod/a", "prod/b"}},
		{"one namespace", &reflector.SelectOptions{Namespace: "prod"}, []string{"prod/a", "prod/b"}},
		{"a namespace without objects", &reflector.SelectOptions{Namespace: "test"}, nil},
		{"labels", &reflector.SelectOptions{LabelSelector: "value=first"}, []string{"dev/a", "prod/a"}},
		{"labels by set", &reflector.SelectOptions{LabelSelector: "value in (second,third),!other"}, []string{"prod/b"}},
		{"labels in a namespace", &reflector.SelectOptions{Namespace: "prod", LabelSelector: "value!=second"}, []string{"prod/a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, wire.JSON, "prod/a", "prod/b", "dev/a")
				server.Put(configMap("prod/b", "second"))
				wantNames(t, run(t, server), test.in, test.want...)
			})
		})
	}
}

func TestAllRejectsAnInvalidSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pairs := 0
		for obj, err := range run(t, newServer(t, wire.JSON, "prod/a")).All(&reflector.SelectOptions{LabelSelector: "=,"}) {
			if pairs++; obj != nil || err == nil || !strings.HasPrefix(err.Error(), `select configmaps: label selector "=,": `) {
				t.Errorf("got %v, %v", obj, err)
			}
		}
		if pairs != 1 {
			t.Errorf("%d pairs, want one", pairs)
		}
	})
}

func TestAllCopiesItsOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := run(t, newServer(t, wire.JSON, "prod/a", "dev/b"))
		o := &reflector.SelectOptions{Namespace: "prod"}
		all := store.All(o)
		o.Namespace = "dev"
		if got := names(t, all); !slices.Equal(got, []string{"prod/a"}) {
			t.Errorf("All yields %q, want prod/a", got)
		}
	})
}

func TestAllEndsAtBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pairs := 0
		for obj, err := range run(t, newServer(t, wire.JSON, "prod/a", "prod/b")).All(nil) {
			if pairs++; obj == nil || err != nil {
				t.Errorf("got %v, %v", obj, err)
			}
			break // a sequence that continued would panic
		}
		if pairs != 1 {
			t.Errorf("%d pairs, want one", pairs)
		}
	})
}

func TestAllIteratesOverASnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "dev/a")
		store := run(t, server)
		n := 0
		for obj, err := range store.All(nil) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; obj.Data["value"] != "first" {
				t.Errorf("%s has changed after the loop began", core.RefOf(obj))
			}
			server.Put(configMap("prod/a", "second"))
			server.Put(configMap("dev/a", "second"))
			server.Put(configMap("dev/b", "second"))
			synctest.Wait()
		}
		if n != 2 {
			t.Errorf("%d objects, want 2", n)
		}
	})
}

func wantNames(t *testing.T, store *reflector.Store[corev1.ConfigMap], o *reflector.SelectOptions, want ...string) {
	t.Helper()
	var got []string
	for obj, err := range store.All(o) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, core.RefOf(obj).String())
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("All(%+v) = %v, want %v", o, got, want)
	}
}

func TestMissingObjectIsNotReadyBeforeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Ignored}) // the list is never complete
		store := run(t, server)
		if _, err := store.Get(ref("prod/a")); err != nil {
			t.Errorf("Get of a listed object: %v", err)
		}
		_, err := store.Get(ref("prod/b"))
		if !errors.Is(err, reflector.ErrNotReady) || errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get = %v, want ErrNotReady", err)
		}
		for _, err := range store.All(nil) {
			if !errors.Is(err, reflector.ErrNotReady) {
				t.Errorf("All yields %v, want ErrNotReady", err)
			}
		}
		if rv := store.ResourceVersion(); rv != "" {
			t.Errorf("ResourceVersion() = %s", rv)
		}
	})
}

func TestObjectThatCannotBeDecodedIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		bad := `{"metadata":{"namespace":"prod","name":"a","uid":"1","resourceVersion":"2"},"data":[]}`
		server.Behave(fakesource.Behaviour{
			Streaming: fakesource.Rejected,
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				if head, err := p.Head(); err != nil || head.Ref.Name != "a" {
					return p, err
				}
				return wire.NewPacked(wire.JSON, []byte(bad)), nil
			},
		})
		store := run(t, server)
		_, err := store.Get(ref("prod/a"))
		if err == nil || !strings.HasPrefix(err.Error(), "configmaps prod/a: decode json: ") {
			t.Errorf("Get: %v", err)
		}
		var failed, read []string
		for obj, err := range store.All(nil) {
			if err != nil {
				failed = append(failed, err.Error())
			} else {
				read = append(read, obj.Name)
			}
		}
		if len(failed) != 1 || !strings.HasPrefix(failed[0], "configmaps prod/a: decode json: ") || !slices.Equal(read, []string{"b"}) {
			t.Errorf("All yields %q and the errors %q, want b and an error for a", read, failed)
		}
	})
}

func TestReadyWaitsForTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r, store := reflect(server)
		ready := make(chan error, 1)
		go func() { ready <- store.Ready(t.Context()) }()
		synctest.Wait()
		if len(ready) != 0 {
			t.Fatal("ready before Run")
		}
		runUntilEnd(t, r)
		if err := <-ready; err != nil {
			t.Error(err)
		}
		if err := store.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestErrorOfReadyIncludesTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return fakesource.Status(403, "Forbidden") }})
		store := run(t, server)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := store.Ready(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, core.ErrForbidden) {
			t.Errorf("got %v, want the cause of the context and the last error", err)
		}
		if want := "wait for all configmaps: context deadline exceeded; the last error was: forbidden"; err.Error() != want {
			t.Errorf("got  %v\nwant %v", err, want)
		}
	})
}

func TestWaitForReadsYourWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		store := run(t, server)
		version := server.Put(configMap("prod/a", "second"))
		if err := store.WaitForVersion(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		obj, err := store.Get(ref("prod/a"))
		if err != nil || obj.Data["value"] != "second" {
			t.Errorf("got %v, %v, want the written object", obj, err)
		}
		if err := store.WaitForVersion(t.Context(), "1"); err != nil {
			t.Errorf("an old version: %v", err)
		}
		deleted := server.Delete(ref("prod/a"))
		if err := store.WaitForVersion(t.Context(), deleted); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForIsSatisfiedByBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		store := run(t, server)
		start := time.Now()
		if err := store.WaitForVersion(t.Context(), server.Tick()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestWaitForComparesVersionsAsNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		for range 8 {
			server.Tick()
		}
		store := run(t, server) // at version 9
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := store.WaitForVersion(ctx, "10")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at %s: WaitForVersion(10) = %v", store.ResourceVersion(), err)
		}
		for _, version := range []string{"", "0", "01", "1a", "-1"} {
			if err := store.WaitForVersion(t.Context(), version); err == nil || !strings.Contains(err.Error(), "not well formed") {
				t.Errorf("WaitForVersion(%q) = %v", version, err)
			}
		}
	})
}

func TestEachWaiterWakesAtItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		store := run(t, server)
		done := make(chan string, 3)
		for _, version := range []string{"2", "3", "4"} {
			go func() {
				if err := store.WaitForVersion(t.Context(), version); err != nil {
					t.Error(err)
				}
				done <- version
			}()
		}
		for _, want := range []string{"2", "3", "4"} {
			synctest.Wait()
			if len(done) != 0 {
				t.Fatalf("%s was observed too early", <-done)
			}
			server.Put(configMap("prod/a", want))
			if got := <-done; got != want {
				t.Errorf("%s was observed, want %s", got, want)
			}
		}
	})
}

func TestInvalidRefIsNotErrNotFound(t *testing.T) {
	nodes, _ := core.ResourceOf[corev1.Node]()
	_, maps := reflect(newServer(t, wire.JSON))
	machines := reflector.StoreOf[corev1.Node](reflector.New(fakesource.New(nodes, wire.JSON), nil))
	for _, tt := range []struct {
		name string
		get  func() error
		want string
	}{
		{
			"no namespace",
			func() error { _, err := maps.Get(ref("web")); return err },
			"configmaps web: the namespace is empty: set ObjectRef.Namespace, because configmaps live in namespaces",
		},
		{
			"no name",
			func() error { _, err := maps.Get(ref("prod/")); return err },
			"configmaps prod/: the name is empty: set ObjectRef.Name",
		},
		{
			"a namespace of a cluster-scoped kind",
			func() error { _, err := machines.Get(ref("prod/a")); return err },
			`nodes prod/a: the namespace is "prod": leave ObjectRef.Namespace empty, because nodes are cluster-scoped`,
		},
		{
			"a selection by namespace of a cluster-scoped kind",
			func() (end error) {
				for _, err := range machines.All(&reflector.SelectOptions{Namespace: "prod"}) {
					end = err
				}
				return end
			},
			`select nodes: the namespace is "prod": leave SelectOptions.Namespace empty, because they are cluster-scoped`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.get(); err == nil || err.Error() != tt.want || errors.Is(err, core.ErrNotFound) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if maps.Has(ref("web")) || machines.Has(ref("prod/a")) {
		t.Error("Has returns true for an invalid ref")
	}
}
