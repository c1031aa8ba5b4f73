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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	parentType   = "applyset.kubernetes.io/is-parent-type" // of a CustomResourceDefinition
	toolName     = "kube-go-apply"
	tool         = toolName + "/v1.0.0"
	parentWriter = toolName + "-applyset" // the field manager who owns what the parent remembers
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

	groupKinds, namespaces names // of members now
	allKinds, allSpaces    names // those, and the ones of members before
}

// openSet finds or makes the parent of the apply set, and has it remember where members will be beside those that there are.
func openSet(ctx context.Context, a *applier, objects []object) (*applySet, error) {
	s := &applySet{
		applier: a, name: a.options.applySet,
		groupKinds: names{}, namespaces: names{}, allKinds: names{}, allSpaces: names{},
	}
	kind := "secrets"
	if before, after, ok := strings.Cut(s.name, "/"); ok {
		kind, s.name = before, after
	}
	res, err := a.mapper.Resolve(ctx, kind)
	if err != nil {
		return nil, err
	}
	s.parents = kube.Dynamic(a.client, res).In(a.namespaceOf(res, ""))
	if err := s.checkParent(ctx); err != nil {
		return nil, err
	}
	a.setID = s.id()
	for _, obj := range objects {
		s.groupKinds[printGroupKind(obj.GroupVersionKind().GroupKind())] = true
		ns := obj.GetNamespace()
		if ns == "" && s.parents.Namespace() == "" {
			ns = a.options.namespace // if its kind has any
		}
		if ns != "" && ns != s.parents.Namespace() {
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

// builtinParent reports whether the parent is of a kind that needs no permission, and that is made when it is not there.
func (s *applySet) builtinParent() bool {
	name := s.parents.Resource().String()
	return name == "secrets" || name == "configmaps"
}

// checkParent refuses a parent of a kind whose definition does not say that its objects can be parents.
func (s *applySet) checkParent(ctx context.Context) error {
	if s.builtinParent() {
		return nil
	}
	kind := s.parents.Resource().String()
	definition, err := kube.Dynamic(s.applier.client, kube.CRDResource()).Metadata().GetOrNil(ctx, kind, nil)
	if err != nil {
		return err
	}
	if definition == nil || definition.Labels[parentType] == "" {
		return fmt.Errorf("one of %s can't be its parent; use secret/%s or configmap/%s, or label the kind's definition %s",
			kind, s.name, s.name, parentType)
	}
	return nil
}

// parent says in a message which object the parent is.
func (s *applySet) parent() string {
	ref := kube.ObjectRef{Namespace: s.parents.Namespace(), Name: s.name}
	return fmt.Sprintf("%s %s", s.parents.Resource().Kind, ref)
}

func (s *applySet) id() string {
	return setID(s.parents.Resource(), kube.ObjectRef{Namespace: s.parents.Namespace(), Name: s.name})
}

// setID returns a set's identity, which says whose it is: an object that was copied with its labels is no parent.
func setID(res kube.Resource, parent kube.ObjectRef) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, res.Kind, res.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// load reads what the parent remembers.
func (s *applySet) load(ctx context.Context) error {
	parent, err := s.parents.Metadata().GetOrNil(ctx, s.name, nil)
	if err != nil {
		return err
	}
	if parent == nil {
		if !s.builtinParent() {
			return fmt.Errorf("there is no %s; make it first", s.parent())
		}
		return nil
	}
	id := parent.Labels[labelID]
	kinds, remembers := parent.Annotations[groupKinds]
	by := parent.Annotations[tooling]
	by = by[:max(0, strings.LastIndexByte(by, '/'))]
	switch {
	case id == "" && by == "" && !s.builtinParent():
		return nil // it was made for this
	case id == "":
		return fmt.Errorf("the %s is there, but is no apply set; name another one", s.parent())
	case id != s.id():
		return fmt.Errorf("the label %s of %s is %s, want %s; was it copied?", labelID, s.parent(), id, s.id())
	case by != toolName:
		return fmt.Errorf("it is kept by another tool, %s; use that one", parent.Annotations[tooling])
	case !remembers:
		return fmt.Errorf("the annotation %s of %s is gone, which tells where members are; restore it", groupKinds, s.parent())
	}
	s.allKinds.add(kinds)
	s.allSpaces.add(parent.Annotations[namespaces])
	return nil
}

// store has the parent remember kinds and namespaces, whoever has changed that meanwhile: it is for this tool to say.
func (s *applySet) store(ctx context.Context, kinds, spaces names) error {
	parent := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: s.name, Labels: map[string]string{labelID: s.id()},
		Annotations: map[string]string{tooling: tool, groupKinds: kinds.String(), namespaces: spaces.String()},
	}}
	_, err := s.parents.Metadata().Apply(ctx, parent, &kube.ApplyOptions{
		FieldManager: parentWriter, Force: true, DryRun: s.applier.options.dryRun,
	})
	return err
}

// prune deletes the members that were not applied, and has the parent forget where they were.
func (s *applySet) prune(ctx context.Context) error {
	for kind := range s.allKinds {
		res, err := s.applier.mapper.Resolve(ctx, kind)
		if unknown, ok := errors.AsType[*kube.UnknownResourceError](err); ok && len(unknown.Failed) == 0 {
			continue // neither are there objects of a kind that is gone, or that the dry run has not defined
		}
		if err != nil {
			return err
		}
		spaces := names{"": true}
		if res.Namespaced {
			spaces = maps.Clone(s.allSpaces)
			if ns := s.parents.Namespace(); ns != "" {
				spaces[ns] = true
			}
		}
		for _, ns := range slices.Sorted(maps.Keys(spaces)) {
			if err := s.pruneIn(ctx, kube.Dynamic(s.applier.client, res).In(ns).Metadata()); err != nil {
				return err
			}
		}
	}
	return s.store(ctx, s.groupKinds, s.namespaces)
}

func (s *applySet) pruneIn(ctx context.Context, api *kube.API[metav1.PartialObjectMetadata]) error {
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
