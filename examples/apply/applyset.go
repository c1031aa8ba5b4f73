// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kube"
)

// What an apply set is made of, see
// https://kubernetes.io/docs/reference/labels-annotations-taints/#applyset-kubernetes-io-id.
const (
	labelID      = "applyset.kubernetes.io/id"
	labelPartOf  = "applyset.kubernetes.io/part-of"
	tooling      = "applyset.kubernetes.io/tooling"
	groupKinds   = "applyset.kubernetes.io/contains-group-kinds"
	namespaces   = "applyset.kubernetes.io/additional-namespaces"
	toolName     = "kube-go-apply"
	tool         = toolName + "/v1.0.0"
	parentSuffix = "-applyset" // of the field manager who owns the parent
)

// names is a set of strings.
type names map[string]bool

func (n names) add(list string) {
	for name := range strings.SplitSeq(list, ",") {
		if name != "" {
			n[name] = true
		}
	}
}

// String returns the names in order, as the annotations have them.
func (n names) String() string { return strings.Join(slices.Sorted(maps.Keys(n)), ",") }

// applySet is the set of what was applied together. The parent object remembers where its members can be: that it is
// written before they are makes sure that none is ever forgotten.
type applySet struct {
	applier *applier
	parents *kube.API[unstructured.Unstructured]
	name    string // of the parent
	kind    string

	groupKinds, namespaces names // of members now
	allKinds, allSpaces    names // those, and the ones of members before
}

// openSet finds or makes the parent of the apply set, and has it remember where members will be beside those that there are.
func openSet(ctx context.Context, a *applier, objects []object) (*applySet, error) {
	s := &applySet{
		applier: a, name: a.options.applySet, kind: "Secret",
		groupKinds: names{}, namespaces: names{}, allKinds: names{}, allSpaces: names{},
	}
	if kind, name, ok := strings.Cut(s.name, "/"); ok {
		s.name = name
		switch strings.ToLower(kind) {
		case "secret", "secrets":
		case "configmap", "configmaps", "cm":
			s.kind = "ConfigMap"
		default:
			return nil, fmt.Errorf("a %s can't be its parent; use secret/%s or configmap/%s", kind, name, name)
		}
	}
	res, err := a.mapper.ForKind(ctx, schema.GroupVersionKind{Version: "v1", Kind: s.kind})
	if err != nil {
		return nil, err
	}
	s.parents = kube.Dynamic(a.client, res, a.options.namespace)
	a.setID = s.id()
	for _, obj := range objects {
		s.groupKinds[printGroupKind(obj.GroupVersionKind().GroupKind())] = true
		if ns := obj.GetNamespace(); ns != "" && ns != a.options.namespace {
			s.namespaces[ns] = true
		}
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.allKinds.add(s.groupKinds.String())
	s.allSpaces.add(s.namespaces.String())
	return s, s.store(ctx, s.allKinds, s.allSpaces)
}

// id returns the set's identity, which says whose it is: an object that was copied with its labels is no parent.
func (s *applySet) id() string {
	sum := sha256.Sum256([]byte(s.name + "." + s.parents.Namespace() + "." + s.kind + "."))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// load reads what the parent remembers.
func (s *applySet) load(ctx context.Context) error {
	parent, err := s.parents.GetOrNil(ctx, s.name, nil)
	if err != nil || parent == nil {
		return err
	}
	notes := parent.GetAnnotations()
	id := parent.GetLabels()[labelID]
	by, _, _ := strings.Cut(notes[tooling], "/")
	switch {
	case id == "":
		return fmt.Errorf("the %s %s/%s is there, but is no apply set; name another one", s.kind, s.parents.Namespace(), s.name)
	case id != s.id():
		return fmt.Errorf("the label %s of %s %s/%s is %s, want %s; was it copied?", labelID, s.kind, s.parents.Namespace(), s.name, id, s.id())
	case by != toolName:
		return fmt.Errorf("it is kept by another tool, %s; use that one", notes[tooling])
	}
	s.allKinds.add(notes[groupKinds])
	s.allSpaces.add(notes[namespaces])
	return nil
}

// store has the parent remember kinds and namespaces.
func (s *applySet) store(ctx context.Context, kinds, spaces names) error {
	parent := &unstructured.Unstructured{}
	parent.SetAPIVersion("v1")
	parent.SetKind(s.kind)
	parent.SetName(s.name)
	parent.SetLabels(map[string]string{labelID: s.id()})
	parent.SetAnnotations(map[string]string{tooling: tool, groupKinds: kinds.String(), namespaces: spaces.String()})
	_, err := s.parents.Apply(ctx, parent, &kube.ApplyOptions{
		FieldManager: s.applier.options.manager + parentSuffix, DryRun: s.applier.options.dryRun,
	})
	return err
}

// prune deletes the members that were not applied, and has the parent forget where they were.
func (s *applySet) prune(ctx context.Context) error {
	for kind := range s.allKinds {
		res, err := s.applier.mapper.Resolve(ctx, kind)
		if _, unknown := errors.AsType[*kube.UnknownResourceError](err); unknown {
			continue // neither are there objects of a kind that is gone, or that the dry run has not defined
		}
		if err != nil {
			return err
		}
		spaces := names{"": true}
		if res.Namespaced {
			spaces = maps.Clone(s.allSpaces)
			spaces[s.parents.Namespace()] = true
		}
		for _, ns := range slices.Sorted(maps.Keys(spaces)) {
			if err := s.pruneIn(ctx, kube.Dynamic(s.applier.client, res, ns)); err != nil {
				return err
			}
		}
	}
	return s.store(ctx, s.groupKinds, s.namespaces)
}

func (s *applySet) pruneIn(ctx context.Context, api *kube.API[unstructured.Unstructured]) error {
	for obj, err := range api.All(ctx, &kube.ListOptions{LabelSelector: labelPartOf + "=" + s.id()}) {
		if err != nil {
			return err
		}
		if s.applier.uids[obj.GetUID()] || obj.GetDeletionTimestamp() != nil {
			continue
		}
		err := api.Delete(ctx, obj.GetName(), &kube.DeleteOptions{UID: obj.GetUID(), DryRun: s.applier.options.dryRun})
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			return err
		}
		s.applier.report(fmt.Sprintf("%s %s", api.Resource(), kube.RefOf(obj)), "pruned")
	}
	return nil
}

// printGroupKind returns, for example, Deployment.apps, or Secret for the core group.
func printGroupKind(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}
