// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// keyOf returns the key of an object whose name is its UID.
func keyOf(uid string) store.Key {
	return store.Key{GroupResource: schema.GroupResource{Resource: "pods"}, ObjectRef: core.ObjectRef{Name: uid}}
}

func putOwned(tx *store.Tx, uid string, deleted bool, owners ...types.UID) {
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": uid, "uid": uid}}}
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		refs = append(refs, metav1.OwnerReference{UID: owner})
	}
	obj.SetOwnerReferences(refs)
	if deleted {
		obj.SetDeletionTimestamp(new(metav1.Now()))
	}
	tx.Put(keyOf(uid), obj)
}

func TestAffectedObjectsAreChangedOnesTheirDependentsAndDeletedOnes(t *testing.T) {
	s := store.New()
	update := func(want []string, f func(*store.Tx)) {
		t.Helper()
		err := s.Update(false, func(tx *store.Tx) error {
			f(tx)
			var got []string
			for _, key := range tx.Affected() {
				got = append(got, key.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("affected objects (-want +got):\n%s", diff)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	update([]string{"a", "b", "c", "d"}, func(tx *store.Tx) {
		putOwned(tx, "a", false)
		putOwned(tx, "b", false, "a")
		putOwned(tx, "c", false, "b")
		putOwned(tx, "d", true)
	})
	if err := s.Update(false, func(tx *store.Tx) error {
		putOwned(tx, "c", true, "a")
		tx.Delete(keyOf("d"))
		return errors.New("rollback")
	}); err == nil {
		t.Fatal("Update returned nil")
	}
	update([]string{"a", "b", "d"}, func(tx *store.Tx) { putOwned(tx, "a", false) })
	update([]string{"b", "d"}, func(tx *store.Tx) { tx.Delete(keyOf("a")) })
	update([]string{"c", "d"}, func(tx *store.Tx) {
		if tx.ByUID("a") != nil || tx.ByUID("b") == nil {
			t.Error("ByUID finds a, which is deleted, or does not find b")
		}
		tx.Delete(keyOf("b"))
	})
}
