// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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

// The labels and annotations of an apply set, see
// https://kubernetes.io/docs/reference/labels-annotations-taints/#applyset-kubernetes-io-id.
const (
	labelID      = "applyset.kubernetes.io/id"
	labelPartOf  = "applyset.kubernetes.io/part-of"
	tooling      = "applyset.kubernetes.io/tooling"
	groupKinds   = "applyset.kubernetes.io/contains-group-kinds"
	namespaces   = "applyset.kubernetes.io/additional-namespaces"
	parentType   = "applyset.kubernetes.io/is-parent-type" // label of a CustomResourceDefinition
	toolName     = "kube-go-apply"
	tool         = toolName + "/v1.0.0"
	parentWriter = toolName + "-applyset" // field manager of the parent's labels and annotations
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

// String returns the names sorted and joined with commas, which is the format of the annotations.
func (n names) String() string { return strings.Join(slices.Sorted(maps.Keys(n)), ",") }

// applySet is a set of objects that are applied together. The annotations of its parent object list the kinds and
// namespaces of its members. The parent is written before the members, so that every member can be found.
type applySet struct {
	applier *applier
	parents *kube.API[unstructured.Unstructured]
	name    string // name of the parent

	groupKinds, namespaces names // kinds and namespaces of the new members
	allKinds, allSpaces    names // kinds and namespaces of the new and the previous members
}

// openSet gets or creates the parent of the apply set and adds the kinds and namespaces of the new members to it.
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
		s.groupKinds[printGroupKind(kindOf(obj))] = true
		ns := obj.GetNamespace()
		if ns == "" && s.parents.Namespace() == "" {
			ns = a.options.namespace // assume that the kind is namespaced
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

// builtinParent reports whether the kind of the parent needs no label. Such a parent is created if it does not exist.
func (s *applySet) builtinParent() bool {
	name := s.parents.Resource().String()
	return name == "secrets" || name == "configmaps"
}

// checkParent returns an error if the definition of the parent's kind does not permit its objects as parents.
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
		return fmt.Errorf("%s cannot be parents: use secret/%s or configmap/%s, or set the label %s on the kind's definition",
			kind, s.name, s.name, parentType)
	}
	return nil
}

func (s *applySet) ref() kube.ObjectRef {
	return kube.ObjectRef{Namespace: s.parents.Namespace(), Name: s.name}
}

// parent returns the kind and name of the parent for messages.
func (s *applySet) parent() string { return fmt.Sprintf("%s %s", s.parents.Resource().Kind, s.ref()) }

func (s *applySet) id() string { return setID(s.parents.Resource(), s.ref()) }

// setID returns the ID of the set with a parent. It depends on the parent's name, namespace and kind, so an object that
// was copied with its labels is not a parent.
func setID(res kube.Resource, parent kube.ObjectRef) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Name, parent.Namespace, res.Kind, res.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// load adds the kinds and namespaces of the previous members, which the parent lists.
func (s *applySet) load(ctx context.Context) error {
	parent, err := s.parents.Metadata().GetOrNil(ctx, s.name, nil)
	if err != nil {
		return err
	}
	if parent == nil {
		if !s.builtinParent() {
			return fmt.Errorf("%s does not exist: create it first", s.parent())
		}
		return nil
	}
	id := parent.Labels[labelID]
	kinds, listed := parent.Annotations[groupKinds]
	by := parent.Annotations[tooling]
	by = by[:max(0, strings.LastIndexByte(by, '/'))]
	switch {
	case id == "" && by == "" && !s.builtinParent():
		return nil // the user created it for a new set
	case id == "":
		return fmt.Errorf("%s exists, but is not the parent of an apply set: use another name", s.parent())
	case id != s.id():
		return fmt.Errorf("label %s of %s is %s, want %s: if it is a copy, use another name", labelID, s.parent(), id, s.id())
	case by != toolName:
		return fmt.Errorf("it is managed by another tool, %s: use that tool", parent.Annotations[tooling])
	case !listed:
		return fmt.Errorf("%s has no annotation %s, which lists the kinds of the members: restore it", s.parent(), groupKinds)
	}
	s.allKinds.add(kinds)
	s.allSpaces.add(parent.Annotations[namespaces])
	return nil
}

// store writes kinds and namespaces to the parent. It overwrites changes by others, because this tool manages the set.
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

// member is a member of the apply set on the server.
type member struct {
	api *kube.API[metav1.PartialObjectMetadata]
	obj *metav1.PartialObjectMetadata
}

func (m member) rank() int { return rank(m.api.Resource().GroupVersionKind().GroupKind()) }

// prune deletes the members that were not applied and removes their kinds and namespaces from the parent. It finds all
// of them before it deletes the first, since the objects of a deleted kind can't be listed. Kinds and namespaces are
// deleted after their objects.
func (s *applySet) prune(ctx context.Context) error {
	var stale []member
	for _, kind := range slices.Sorted(maps.Keys(s.allKinds)) {
		res, err := s.applier.mapper.Resolve(ctx, kind)
		if unknown, ok := errors.AsType[*kube.UnknownResourceError](err); ok && len(unknown.Failed) == 0 {
			continue // a kind that was deleted, or that only a dry run has defined, has no objects
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
			found, err := s.staleIn(ctx, kube.Dynamic(s.applier.client, res).In(ns).Metadata())
			if err != nil {
				return err
			}
			stale = append(stale, found...)
		}
	}
	slices.SortStableFunc(stale, func(a, b member) int { return cmp.Compare(b.rank(), a.rank()) })
	for _, m := range stale {
		if err := s.pruneOne(ctx, m); err != nil {
			return err
		}
	}
	return s.store(ctx, s.groupKinds, s.namespaces)
}

// staleIn returns the members of a kind in a namespace that were not applied.
func (s *applySet) staleIn(ctx context.Context, api *kube.API[metav1.PartialObjectMetadata]) ([]member, error) {
	var stale []member
	for obj, err := range api.All(ctx, &kube.ListOptions{LabelSelector: labelPartOf + "=" + s.id()}) {
		if err != nil {
			return nil, err
		}
		if !s.applier.uids[obj.GetUID()] && obj.GetDeletionTimestamp() == nil {
			stale = append(stale, member{api, obj})
		}
	}
	return stale, nil
}

func (s *applySet) pruneOne(ctx context.Context, m member) error {
	o := &kube.DeleteOptions{UID: m.obj.GetUID(), DryRun: s.applier.options.dryRun}
	if err := m.api.Delete(ctx, m.obj.GetName(), o); err != nil && !errors.Is(err, kube.ErrNotFound) {
		return err
	}
	s.applier.report(fmt.Sprintf("%s %s", m.api.Resource(), kube.RefOf(m.obj)), "pruned")
	return nil
}

// printGroupKind returns, for example, Deployment.apps, or Secret for the core group.
func printGroupKind(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}
