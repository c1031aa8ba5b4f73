// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// seedManager is the manager of the fields of the objects that exist at the start.
const seedManager = "kubetest"

// Seed is an object that exists when a server starts.
type Seed struct {
	Object core.Object
	From   string // where the object is, for errors
	plain  *unstructured.Unstructured
}

// Add stores the objects that exist when a server starts, before it serves requests. Namespaces and definitions come
// first, whatever the order of the objects. The owners that their references name need not exist.
func (s *Server) Add(definitions []func() (*unstructured.Unstructured, error), seeds []Seed) error {
	for i := range seeds {
		var err error
		if seeds[i].plain, err = plainObject(seeds[i].Object); err != nil {
			return fmt.Errorf("%s: %w", seeds[i].From, err)
		}
		for _, owner := range seeds[i].plain.GetOwnerReferences() {
			s.invented[owner.UID] = true // until it is known whether the owner is among the objects
		}
	}
	if err := s.addAll(seeds, isNamespace); err != nil {
		return err
	}
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		if err := s.ensureNamespace(name); err != nil {
			return err
		}
	}
	for i, definition := range definitions {
		if err := s.addDefinition(definition); err != nil {
			return fmt.Errorf("Options.Definitions[%d]: %w", i, err)
		}
	}
	if err := s.addAll(seeds, isDefinition); err != nil {
		return err
	}
	rest := func(obj *unstructured.Unstructured) bool { return !isNamespace(obj) && !isDefinition(obj) }
	if err := s.addAll(seeds, rest); err != nil {
		return err
	}
	return s.Store.Update(true, func(tx *store.Tx) error {
		maps.DeleteFunc(s.invented, func(uid types.UID, _ bool) bool { return tx.ByUID(uid) != nil })
		return nil
	})
}

func isNamespace(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
}

func isDefinition(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == core.CRDResource().GroupVersionKind()
}

// addAll stores the objects that f selects.
func (s *Server) addAll(seeds []Seed, f func(*unstructured.Unstructured) bool) error {
	for _, seed := range seeds {
		if !f(seed.plain) {
			continue
		}
		if err := s.add(seed.plain); err != nil {
			return fmt.Errorf("%s %s: %w", seed.From, core.RefOf(seed.plain), err)
		}
	}
	return nil
}

func (s *Server) addDefinition(f func() (*unstructured.Unstructured, error)) error {
	if f == nil {
		return errors.New("the function is nil")
	}
	crd, err := f()
	if err != nil {
		return err
	}
	if crd == nil {
		return errors.New("the definition is nil")
	}
	return s.add(crd.DeepCopy())
}

func (s *Server) ensureNamespace(name string) error {
	err := s.transact(context.Background(), false, func(tx *store.Tx) error {
		if tx.Get(store.Key{GroupResource: namespaces(), ObjectRef: core.ObjectRef{Name: name}}) != nil {
			return nil
		}
		_, err := s.seeding(tx, s.kinds.storedAs(namespaces()), core.ObjectRef{}).create(&unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}},
		}, false)
		return err
	})
	return err
}

func (s *Server) seeding(tx *store.Tx, k *kind, ref core.ObjectRef) *write {
	return &write{
		Server: s, tx: tx, kind: k, ref: ref, manager: seedManager, validation: metav1.FieldValidationStrict, seed: true,
		warn: func(string) {},
	}
}

// add stores one object.
func (s *Server) add(plain *unstructured.Unstructured) error {
	k := s.kinds.of(plain.GroupVersionKind())
	switch {
	case s.Webhooks == nil && k != nil && (k.stored() == configurations(true) || k.stored() == configurations(false)):
		return errors.New("it needs Options.Webhooks, a handler of the webhooks")
	case k == nil && plain.IsList():
		return errors.New("it is a list: pass its items")
	case k == nil:
		return fmt.Errorf("the server has no kind %s: add its definition to Options.Definitions", plain.GroupVersionKind())
	}
	ref := core.ObjectRef{Namespace: plain.GetNamespace()}
	if k.Namespaced {
		if ref.Namespace == "" {
			return fmt.Errorf("the namespace is empty: %s are in namespaces", k.Plural)
		}
		if err := s.ensureNamespace(ref.Namespace); err != nil {
			return err
		}
	}
	plain, err := k.strictly(plain)
	if err != nil {
		return err
	}
	given := plain.DeepCopy()
	plain.SetResourceVersion("") // of another server
	return s.transact(context.Background(), false, func(tx *store.Tx) error {
		w := s.seeding(tx, k, ref)
		obj, err := w.create(plain, false)
		if err != nil {
			return err
		}
		return w.restore(obj, given)
	})
}

// restore sets the metadata that servers set in new objects to that of an object of Options, if it has any.
func (w *write) restore(stored, given *unstructured.Unstructured) error {
	obj := stored.DeepCopy()
	if managed := given.GetManagedFields(); len(managed) > 0 {
		obj.SetManagedFields(managed)
	}
	if created := given.GetCreationTimestamp(); !created.IsZero() {
		obj.SetCreationTimestamp(created)
	}
	if obj.GetGeneration() > 0 && given.GetGeneration() > 0 {
		obj.SetGeneration(given.GetGeneration())
	}
	if deleted := given.GetDeletionTimestamp(); deleted != nil {
		seconds, _ := grace(w.key(), obj, given.GetDeletionGracePeriodSeconds())
		obj.SetDeletionTimestamp(deleted)
		obj.SetDeletionGracePeriodSeconds(&seconds)
	}
	if equality.Semantic.DeepEqual(stored.Object, obj.Object) {
		return nil
	}
	if w.ends(w.key(), obj) {
		return errors.New("it has a deletionTimestamp and no finalizers: a server has deleted such an object")
	}
	w.tx.Put(w.key(), obj)
	return nil
}

// plainObject returns an unstructured copy of an object, with its kind.
func plainObject(obj core.Object) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	plain := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &plain.Object); err != nil { // keeps integers
		return nil, err
	}
	if plain.Object == nil {
		return nil, errors.New("the object is nil")
	}
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		if res, err := core.ResourceOfObject(obj); err == nil {
			plain.SetGroupVersionKind(res.GroupVersionKind())
		}
	}
	if plain.GetAPIVersion() == "" || plain.GetKind() == "" {
		return nil, errors.New("its kind is not known: set its apiVersion and kind")
	}
	return plain, nil
}

// strictly returns an object as it is decoded from a request with strict field validation.
func (k *kind) strictly(plain *unstructured.Unstructured) (obj *unstructured.Unstructured, err error) {
	var unknown []string
	if k.typed() {
		data, failed := json.Marshal(plain)
		if failed != nil {
			return nil, failed
		}
		obj, unknown, err = typed.Decode(data, "application/json", k.GroupVersionKind(), true)
	} else {
		obj, unknown, err = k.complete(plain)
	}
	if err == nil && len(unknown) > 0 {
		err = errors.New(strings.Join(unknown, ", "))
	}
	return obj, err
}
