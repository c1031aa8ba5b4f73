// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kube"
)

// atOnce is the number of concurrent requests.
const atOnce = 8

// node is an object and the objects that it owns.
type node struct {
	ref      kube.Resource
	meta     *metav1.ObjectMeta
	ready    string
	again    bool // the object is already in the tree, with its children
	children []*node
}

// survey finds the owners of objects.
type survey struct {
	client   *kube.Client
	progress func(string)

	mu    sync.Mutex                        // guards owned and seen
	owned map[types.UID]map[types.UID]*node // by the UID of the owner, then by the UID of the object
	seen  int                               // number of resources listed
}

// each calls work concurrently for each index below n and returns the errors.
func each(n int, work func(int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			errs[i] = work(i)
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// collect lists the metadata of all objects that can have the root as an owner: objects in its namespace, or objects in
// the whole cluster if the root is cluster-scoped. It returns the errors of requests that failed.
func (s *survey) collect(ctx context.Context, disc *kube.Discovery, namespace string) []error {
	s.owned = map[types.UID]map[types.UID]*node{}
	resources := slices.DeleteFunc(disc.Preferred(), func(r kube.Resource) bool {
		return !slices.Contains(r.Verbs, "list") || namespace != "" && !r.Namespaced
	})
	failures := each(len(resources), func(i int) error {
		err := s.list(ctx, resources[i], namespace)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen++
		s.progress(fmt.Sprintf("%d of %d kinds", s.seen, len(resources)))
		return err
	})
	for _, f := range disc.Failed() {
		failures = append(failures, f)
	}
	return failures
}

// list records the owners of a resource's objects.
func (s *survey) list(ctx context.Context, res kube.Resource, namespace string) error {
	objects := kube.Dynamic(s.client, res)
	if namespace != "" {
		objects = objects.In(namespace)
	}
	for obj, err := range objects.Metadata().All(ctx, nil) {
		switch {
		case errors.Is(err, kube.ErrNotFound), errors.Is(err, kube.ErrMethodNotAllowed):
			return nil // the resource was removed meanwhile, or does not support list
		case err != nil:
			return err
		}
		if len(obj.OwnerReferences) > 0 {
			s.record(&node{ref: res, meta: &obj.ObjectMeta})
		}
	}
	return nil
}

// record adds an object to the objects of its owners. Objects that two API groups serve are recorded once.
func (s *survey) record(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, owner := range n.meta.OwnerReferences {
		if s.owned[owner.UID] == nil {
			s.owned[owner.UID] = map[types.UID]*node{}
		}
		s.owned[owner.UID][n.meta.UID] = n
	}
}

// tree builds the tree of an object. An object with several owners appears below each of them, but its children appear
// only once, so cycles end.
func (s *survey) tree(root node) *node {
	drawn := map[types.UID]bool{}
	var grow func(n node) *node
	grow = func(n node) *node {
		if n.again = drawn[n.meta.UID]; n.again {
			return &n
		}
		drawn[n.meta.UID] = true
		children := slices.SortedFunc(maps.Values(s.owned[n.meta.UID]), func(a, b *node) int {
			return cmp.Or(
				cmp.Compare(a.ref.Kind, b.ref.Kind), cmp.Compare(a.meta.Namespace, b.meta.Namespace),
				cmp.Compare(a.meta.Name, b.meta.Name), cmp.Compare(a.ref.Group, b.ref.Group),
			)
		})
		for _, child := range children {
			n.children = append(n.children, grow(*child))
		}
		return &n
	}
	return grow(root)
}

// examine gets the objects of the tree and sets whether they are ready, since collect lists only their metadata.
func (s *survey) examine(ctx context.Context, top *node) []error {
	var all []*node
	var walk func(n *node)
	walk = func(n *node) {
		all = append(all, n)
		for _, child := range n.children {
			walk(child)
		}
	}
	walk(top)
	return each(len(all), func(i int) error {
		n := all[i]
		obj, err := kube.Dynamic(s.client, n.ref).In(n.meta.Namespace).Get(ctx, n.meta.Name, nil)
		switch {
		case errors.Is(err, kube.ErrNotFound):
			n.ready = "deleted"
			return nil
		case err != nil:
			n.ready = "?"
			return err
		}
		n.ready = readiness(obj)
		return nil
	})
}

// readiness returns the status of an object's readiness condition, with its reason unless the status is True. It
// returns "" if the object has no such condition.
func readiness(obj *unstructured.Unstructured) string {
	if obj.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, wanted := range []string{"Ready", "Available", "Complete", "Established"} {
		for _, c := range list {
			condition, _ := c.(map[string]any)
			if condition["type"] != wanted {
				continue
			}
			status, _ := condition["status"].(string)
			if reason, _ := condition["reason"].(string); status != "True" && reason != "" {
				status += " (" + reason + ")"
			}
			return status
		}
	}
	return ""
}
