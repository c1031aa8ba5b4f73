// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

func resource() schema.GroupResource { return schema.GroupResource{Resource: "things"} }

func key(name string) store.Key {
	return store.Key{GroupResource: resource(), ObjectRef: core.ObjectRef{Namespace: "ns", Name: name}}
}

func object(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": name}, "value": value,
	}}
}

// put stores an object in a transaction of its own, and returns its version.
func put(t *testing.T, s *store.Store, name, value string) uint64 {
	t.Helper()
	must(t, s.Update(false, func(tx *store.Tx) error {
		tx.Put(key(name), object(name, value))
		return nil
	}))
	return s.Version()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// state is the values of objects by name.
type state map[string]string

func stateOf(objects []*unstructured.Unstructured) state {
	got := state{}
	for _, obj := range objects {
		got[obj.GetName()], _, _ = unstructured.NestedString(obj.Object, "value")
	}
	return got
}

// TestListsAtEachVersionAreThoseOfTheirTime makes random changes and compares the list of each version with a model.
func TestListsAtEachVersionAreThoseOfTheirTime(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		s, model := store.New(), state{}
		want := map[uint64]state{s.Version(): {}}
		for i := range 200 {
			name := string(rune('a' + random.IntN(6)))
			must(t, s.Update(false, func(tx *store.Tx) error {
				if model[name] != "" && random.IntN(3) == 0 {
					tx.Delete(key(name))
					delete(model, name)
					return nil
				}
				model[name] = strconv.Itoa(i)
				tx.Put(key(name), object(name, model[name]))
				return nil
			}))
			want[s.Version()] = maps.Clone(model)
		}
		for version, state := range want {
			objects, at, err := s.List(resource(), version)
			must(t, err)
			if diff := cmp.Diff(state, stateOf(objects)); diff != "" || at != version {
				t.Fatalf("seed %d: List at %d is of %d (-want +got):\n%s", seed, version, at, diff)
			}
		}
	}
}

// TestChangesLeadFromEachListToTheNext replays the changes after a list.
func TestChangesLeadFromEachListToTheNext(t *testing.T) {
	s := store.New()
	for i := range 50 {
		put(t, s, fmt.Sprint("n", i%7), strconv.Itoa(i))
	}
	middle := s.Version() - 20
	objects, _, err := s.List(resource(), middle)
	must(t, err)
	got := stateOf(objects)
	changes, upTo, _, err := reader(t, s, middle).Changes(resource(), nil)
	must(t, err)
	for _, c := range changes {
		got[c.Name], _, _ = unstructured.NestedString(c.New.Object, "value")
	}
	objects, newest, err := s.List(resource(), 0)
	must(t, err)
	if diff := cmp.Diff(stateOf(objects), got); diff != "" || upTo != newest || len(changes) != 20 {
		t.Errorf("%d changes up to %d (-listed +replayed):\n%s", len(changes), upTo, diff)
	}
}

func TestFailedAndDryTransactionsChangeNothing(t *testing.T) {
	s := store.New()
	version := put(t, s, "a", "1")
	failed := errors.New("failed")
	for _, dryRun := range []bool{false, true} {
		err := s.Update(dryRun, func(tx *store.Tx) error {
			tx.Put(key("a"), object("a", "2"))
			tx.Put(key("b"), object("b", "2"))
			tx.Delete(key("a"))
			if dryRun {
				return nil
			}
			return failed
		})
		if dryRun != (err == nil) {
			t.Errorf("Update = %v", err)
		}
		objects, at, err := s.List(resource(), 0)
		must(t, err)
		if diff := cmp.Diff(state{"a": "1"}, stateOf(objects)); diff != "" || at != version {
			t.Errorf("dry run %v: version %d, want %d (-want +got):\n%s", dryRun, at, version, diff)
		}
	}
}

func TestCompactedVersionsAreExpired(t *testing.T) {
	s := store.New()
	old := put(t, s, "a", "1")
	put(t, s, "a", "2")
	s.Compact()
	if _, _, err := s.List(resource(), old); !errors.Is(err, core.ErrExpired) {
		t.Errorf("List of a compacted version = %v, want ErrExpired", err)
	}
	if _, err := s.Read(old); !errors.Is(err, core.ErrExpired) {
		t.Errorf("Read after a compacted version = %v, want ErrExpired", err)
	}
	if _, _, err := s.List(resource(), s.Version()); err != nil {
		t.Errorf("List of the newest version = %v", err)
	}
}

// reader returns a reader of the changes after a version.
func reader(t *testing.T, s *store.Store, after uint64) *store.Reader {
	t.Helper()
	r, err := s.Read(after)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

func TestReadersReadTheChangesBeforeACompaction(t *testing.T) {
	s := store.New()
	first := put(t, s, "a", "1")
	r := reader(t, s, first)
	put(t, s, "a", "2")
	s.Compact()
	put(t, s, "a", "3")
	s.Compact()
	changes, upTo, _, err := r.Changes(resource(), nil)
	if err != nil || len(changes) != 2 || upTo != s.Version() {
		t.Errorf("%d changes up to %d, %v; want both", len(changes), upTo, err)
	}
	if _, err := s.Read(first); !errors.Is(err, core.ErrExpired) {
		t.Errorf("a new reader of a compacted version: %v, want ErrExpired", err)
	}
	if _, _, err := s.List(resource(), first); !errors.Is(err, core.ErrExpired) {
		t.Errorf("List of a compacted version = %v, want ErrExpired", err)
	}
}

func TestHeldChangesAreShownAfterwards(t *testing.T) {
	s := store.New()
	before := s.Version()
	hold, other := &store.Hold{}, &store.Hold{}
	s.Hide(hold)
	put(t, s, "a", "1")
	holds := []*store.Hold{other, hold}
	changes, upTo, more, err := reader(t, s, before).Changes(resource(), holds)
	must(t, err)
	if len(changes) > 0 || upTo != before {
		t.Errorf("held: %d changes up to %d", len(changes), upTo)
	}
	changes, upTo, _, err = reader(t, s, before).Changes(resource(), holds[:1])
	if err != nil || len(changes) != 1 || upTo != s.Version() {
		t.Errorf("not held: %d changes up to %d, %v", len(changes), upTo, err)
	}
	s.Show(hold)
	<-more
	changes, upTo, _, err = reader(t, s, before).Changes(resource(), holds)
	must(t, err)
	if len(changes) != 1 || upTo != s.Version() {
		t.Errorf("released: %d changes up to %d", len(changes), upTo)
	}
}

func TestListsHaveTheOrderOfARealServer(t *testing.T) {
	s := store.New()
	want := []string{"a-b/x", "a/x", "a/y", "b/x"}
	for _, name := range []string{"b/x", "a/y", "a-b/x", "a/x"} {
		ref := core.ParseObjectRef(name)
		obj := object(ref.Name, "")
		obj.SetNamespace(ref.Namespace)
		must(t, s.Update(false, func(tx *store.Tx) error {
			tx.Put(store.Key{GroupResource: resource(), ObjectRef: ref}, obj)
			return nil
		}))
	}
	objects, _, err := s.List(resource(), 0)
	must(t, err)
	var got []string
	for _, obj := range objects {
		got = append(got, core.RefOf(obj).String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}
