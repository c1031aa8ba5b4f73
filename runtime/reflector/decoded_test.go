// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// compareDecoded compares a decoded store with another store of the same objects, and checks that it has one object for
// each state.
func compareDecoded(t *testing.T, store, decoded *reflector.Store[corev1.ConfigMap]) {
	t.Helper()
	if decoded.Len() != store.Len() {
		t.Errorf("the decoded store has %d objects, want %d", decoded.Len(), store.Len())
	}
	for want, err := range store.All(nil) {
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded.Get(core.RefOf(want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the decoded store has another %s, %v (-want +got):\n%s", core.RefOf(want), err, diff)
		}
	}
	for _, o := range []*reflector.SelectOptions{nil, {LabelSelector: "value,other!=x", Namespace: "prod"}} {
		for got, err := range decoded.All(o) {
			if err != nil {
				t.Fatal(err)
			}
			if same, err := decoded.Get(core.RefOf(got)); same != got {
				t.Errorf("All(%v) and Get return two objects for %s, %v", o, core.RefOf(got), err)
			}
		}
	}
}

func TestDecodedStoreDecodesEachStateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a", "prod/b", "dev/c")
		r, store := reflect(server)
		early := reflector.Decoded(store)
		if _, err := early.Get(ref("prod/a")); !errors.Is(err, reflector.ErrNotReady) {
			t.Errorf("Get before Run: %v, want ErrNotReady", err)
		}
		runUntilEnd(t, r)
		late := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r))
		for _, decoded := range []*reflector.Store[corev1.ConfigMap]{early, late, reflector.Decoded(late)} {
			compareDecoded(t, store, decoded)
		}
		first, _ := early.Get(ref("prod/a"))
		if other, err := late.Get(ref("prod/a")); other != first {
			t.Errorf("two decoded stores have two objects, %v", err)
		}
		server.Put(configMap("prod/b", "second"))
		server.Compact() // the next change is a new list
		server.Cut(errStop)
		time.Sleep(time.Minute) // for the back-off
		if same, err := late.Get(ref("prod/a")); same != first {
			t.Errorf("an unchanged object was decoded again, %v", err)
		}
		if b, err := late.Get(ref("prod/b")); err != nil || b.Data["value"] != "second" {
			t.Errorf("got %v, %v, want the second state", b, err)
		}
		server.Delete(ref("prod/a"))
		synctest.Wait()
		if _, err := late.Get(ref("prod/a")); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get of a deleted object: %v", err)
		}
		compareDecoded(t, store, early)
	})
}

func TestIndexOfADecodedStoreHasItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a", "prod/b")
		reflected, store := reflect(server)
		decoded := reflector.Decoded(store)
		index := reflector.IndexBy(decoded, func(obj *corev1.ConfigMap) []string {
			obj.Data["value"] += " indexed" // of an object of its own
			return []string{"all"}
		})
		runUntilEnd(t, reflected)
		n := 0
		for obj, err := range index.All("all") {
			n++
			if same, _ := decoded.Get(core.RefOf(obj)); same != obj || obj.Data["value"] != "first" {
				t.Errorf("the index has %v, %v, the store has %v", obj, err, same)
			}
		}
		if n != 2 {
			t.Errorf("the index has %d objects, want 2", n)
		}
	})
}

func TestDecodedStoreFollowsTheFormOfTheObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a")
		r := reflector.New(server, nil)
		lean := reflector.Decoded(reflector.StoreOf[metav1.PartialObjectMetadata](r))
		runUntilEnd(t, r)
		full := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r)) // which needs another form
		if _, err := full.Get(ref("prod/a")); !errors.Is(err, reflector.ErrNotReady) {
			t.Errorf("Get before the objects have the form: %v", err)
		}
		if err := full.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			compareDecoded(t, reflector.StoreOf[corev1.ConfigMap](r), full)
			if obj, err := lean.Get(ref("prod/a")); err != nil || obj.Labels["value"] == "" {
				t.Errorf("the store of metadata has %v, %v", obj, err)
			}
			server.Put(configMap("prod/a", "second"))
			synctest.Wait()
		}
	})
}

func TestObjectThatCannotBeDecodedIsAnErrorOfADecodedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/odd")
		var reported []string
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{
			Paged: true, OnError: func(err error) { reported = append(reported, err.Error()) },
		}})
		decoded := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r))
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if !strings.Contains(string(p.Bytes()), `"odd"`) {
				return p, nil
			}
			return wire.NewPacked(p.Encoding(), []byte(strings.Replace(string(p.Bytes()), `"data":{`, `"data":7,"x":{`, 1))), nil
		}})
		runUntilEnd(t, r)
		const want = "configmaps prod/odd: decode"
		if _, err := decoded.Get(ref("prod/odd")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Get: %v", err)
		}
		var all []string
		for obj, err := range decoded.All(nil) {
			if err != nil {
				all = append(all, err.Error()[:len(want)])
			} else {
				all = append(all, obj.Name)
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, []string{"a", want}) {
			t.Errorf("All yields %q, want a and an error for odd", all)
		}
		if len(reported) != 1 || !strings.HasPrefix(reported[0], "decoded store of "+want) {
			t.Errorf("the errors are %q, want one for odd", reported)
		}
	})
}

func TestReaderThatChangesASharedObjectIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a", "prod/b")
		var reported []string
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{
			OnError: func(err error) { reported = append(reported, err.Error()) },
		}})
		decoded := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r))
		runUntilEnd(t, r)
		a, err := decoded.Get(ref("prod/a"))
		if err != nil {
			t.Fatal(err)
		}
		a.Data["value"] = "secret" // which must not be in the error
		a.Labels["mine"] = ""
		for range 2 { // the second state was not changed
			for _, obj := range []string{"prod/a", "prod/b"} {
				server.Put(configMap(obj, "next"))
				server.Put(configMap(obj, "last"))
				synctest.Wait()
			}
		}
		want := "decoded store of configmaps prod/a: a reader has changed /data/value, /metadata/labels/mine, " +
			"but all readers share the object: change a copy"
		if !slices.Equal(reported, []string{want}) {
			t.Errorf("the errors are %q, want %q", reported, want)
		}
		if now, err := decoded.Get(ref("prod/a")); err != nil || now.Data["value"] != "last" {
			t.Errorf("the store has %v, %v", now, err)
		}
	})
}

func TestReadsOfADecodedStoreWaitForItsForm(t *testing.T) {
	server := newServer(t, wire.Protobuf)
	for i := range 2000 { // so that decoding them takes a while
		server.Put(configMap(fmt.Sprint("prod/", i), "first"))
	}
	r := reflector.New(server, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(errStop)
	wg.Go(func() { _ = r.Run(ctx) }) // the cause of ctx
	if err := reflector.StoreOf[metav1.PartialObjectMetadata](r).Ready(ctx); err != nil {
		t.Fatal(err)
	}
	full := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r)) // which needs another form
	for failed := errStop; failed != nil; {
		failed = nil
		n := 0
		for _, err := range full.All(nil) {
			failed = err
			n++
		}
		if failed == nil && n != 2000 {
			t.Errorf("All yields %d of 2000 objects", n)
		}
		if failed != nil && !errors.Is(failed, reflector.ErrNotReady) {
			t.Fatal(failed)
		}
	}
}

func TestFirstStoreMayBeCreatedDuringRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reflector.New(newServer(t, wire.JSON, "prod/a"), nil)
		runUntilEnd(t, r) // without a store
		store := reflector.StoreOf[corev1.ConfigMap](r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := store.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if obj, err := store.Get(ref("prod/a")); err != nil || obj.Name != "a" {
			t.Errorf("the store has %v, %v", obj, err)
		}
	})
}

func TestStoresOfOneTypeAreReadyTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		server.Behave(fakesource.Behaviour{Streaming: fakesource.Rejected})
		r := reflector.New(server, nil)
		first := reflector.StoreOf[metav1.PartialObjectMetadata](r)
		runUntilEnd(t, r)
		server.Behave(fakesource.Behaviour{OnList: func(*request.ListOptions) error { return errStop }, Streaming: fakesource.Rejected})
		reflector.StoreOf[corev1.ConfigMap](r) // which needs another form, but no list succeeds
		synctest.Wait()
		second := reflector.Decoded(reflector.StoreOf[metav1.PartialObjectMetadata](r))
		a, err := second.Get(ref("prod/a"))
		if b, errB := reflector.Decoded(first).Get(ref("prod/a")); a != b || err != nil || errB != nil {
			t.Errorf("the stores have %v, %v and %v, %v; want the same object", a, err, b, errB)
		}
	})
}

func TestOnErrorOfAnIndexMayUseItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf, "prod/a")
		var store *reflector.Store[corev1.ConfigMap]
		var found []string
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{OnError: func(error) {
			reflector.IndexBy(store, uses)
			found = names(t, reflector.Decoded(store).All(&reflector.SelectOptions{LabelSelector: "value"}))
		}}})
		store = reflector.StoreOf[corev1.ConfigMap](r)
		runUntilEnd(t, r)
		shared, err := reflector.Decoded(store).Get(ref("prod/a"))
		if err != nil {
			t.Fatal(err)
		}
		shared.Data["value"] = "changed"
		server.Put(configMap("prod/a", "second"))
		synctest.Wait()
		if !slices.Equal(found, []string{"prod/a"}) {
			t.Errorf("OnError has found %q, want prod/a", found)
		}
	})
}

// readOnly is a config map whose data can't be encoded.
type readOnly struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              decodable `json:"data"`
}

func (*readOnly) KubeResource() core.Resource { return (*taggedConfigMap)(nil).KubeResource() }

type decodable struct{ data string }

func (d *decodable) UnmarshalJSON(data []byte) error {
	d.data = string(data)
	return nil
}

func (decodable) MarshalJSON() ([]byte, error) { return nil, errStop }

func TestObjectsThatCannotBeEncodedAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{OnError: func(err error) { t.Error(err) }}})
		decoded := reflector.Decoded(reflector.StoreOf[readOnly](r))
		runUntilEnd(t, r)
		for _, value := range []string{"second", "third"} {
			server.Put(configMap("prod/a", value))
			synctest.Wait()
			if obj, err := decoded.Get(ref("prod/a")); err != nil || !strings.Contains(obj.Data.data, value) {
				t.Errorf("Get = %v, %v, want %s", obj, err, value)
			}
		}
	})
}

func TestAnObjectThatIsAddedIsSharedFromTheFirstRead(t *testing.T) {
	server := newServer(t, wire.Protobuf, "prod/a")
	r, store := reflect(server)
	decoded := reflector.Decoded(store)
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(errStop)
	wg.Go(func() { _ = r.Run(ctx) }) // the cause of ctx
	if err := store.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		defer cancel(errStop)
		for i := range 1000 {
			server.Delete(ref("prod/a"))
			if err := store.WaitForVersion(ctx, server.Put(configMap("prod/a", fmt.Sprint(i)))); err != nil {
				t.Error(err)
			}
		}
	})
	for ctx.Err() == nil {
		a, errA := decoded.Get(ref("prod/a"))
		b, errB := decoded.Get(ref("prod/a"))
		if errA == nil && errB == nil && a != b && a.ResourceVersion == b.ResourceVersion {
			t.Fatalf("two objects for version %s", a.ResourceVersion)
		}
	}
}
