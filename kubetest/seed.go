// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// seedManager is the manager of the fields of the objects that exist at the start.
const seedManager = "kubetest"

// seed stores the objects that exist at the start.
func (s *Server) seed(o *Options) error {
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		if err := s.ensureNamespace(name); err != nil {
			return err
		}
	}
	for i, definition := range o.Definitions {
		crd, err := definition()
		if err == nil {
			err = s.add(crd)
		}
		if err != nil {
			return fmt.Errorf("Options.Definitions[%d]: %w", i, err)
		}
	}
	for i, obj := range o.Objects {
		for _, owner := range obj.GetOwnerReferences() {
			s.invented[owner.UID] = true
		}
		if err := s.add(obj); err != nil {
			return fmt.Errorf("Options.Objects[%d], %T %s: %w", i, obj, core.RefOf(obj), err)
		}
	}
	return nil
}

func (s *Server) ensureNamespace(name string) error {
	err := s.transact(false, func(tx *store.Tx) error {
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
func (s *Server) add(obj core.Object) error {
	plain, err := plainObject(obj)
	if err != nil {
		return err
	}
	k := s.kinds.of(plain.GroupVersionKind())
	if k == nil {
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
	plain, unknown, err := k.complete(plain)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%v", unknown)
	}
	return s.transact(false, func(tx *store.Tx) error {
		_, err := s.seeding(tx, k, ref).create(plain, false)
		return err
	})
}

// plainObject returns an unstructured copy of an object, with its kind.
func plainObject(obj core.Object) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	plain := &unstructured.Unstructured{Object: map[string]any{}}
	if err := unmarshal(data, &plain.Object); err != nil {
		return nil, err
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return plain, nil
	}
	res, err := core.ResourceOfObject(obj)
	if err != nil {
		return nil, err
	}
	plain.SetGroupVersionKind(res.GroupVersionKind())
	return plain, nil
}
