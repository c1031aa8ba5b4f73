// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/patch"
)

// Action is a write that a plan has left out.
type Action struct {
	// Verb is create, apply or delete.
	Verb string

	// Item identifies the object.
	Item machine.Item

	// Diff is the change as a JSON merge patch, RFC 7396: for a create, the whole object as the server would store it;
	// for a delete, nil. It has neither the status nor what the server sets in the metadata, and no values of a Secret.
	Diff map[string]any
}

// Actions returns what the methods of a plan would have done, in that order. It is empty for a pass that is not a plan.
func (p *Pass) Actions() []Action {
	if p.plan == nil {
		return nil
	}
	return slices.Clone(p.plan.actions)
}

// Next returns another pass over the same owner, which begins with the inventory that this one leaves and has declared
// nothing yet. The next pass of a plan continues the plan: its Actions are those of both.
func (p *Pass) Next() *Pass {
	next := *p
	next.items, next.order, next.failed = p.Items(), nil, false
	next.declared, next.deleted = make(map[key]*declared), make(map[key]bool)
	return &next
}

// plannedUID is the UID of an owner that does not exist.
const plannedUID = types.UID("00000000-0000-0000-0000-000000000000")

// plan is the objects of a server with changes that are not stored.
type plan struct {
	world // the server, whose applies are dry runs

	written map[key]map[string]any // the planned state of an object; nil if it is deleted
	actions []Action
}

// read implements world. It does not use views, which may lack fields.
func (p *plan) read(ctx context.Context, t *target, _ bool) (*object, error) {
	if fields, ok := p.written[t.key]; ok {
		if fields == nil {
			return nil, nil
		}
		return objectOf(fields), nil
	}
	return p.world.read(ctx, t, true)
}

// apply implements world. If the server can't make a dry run because the namespace or the kind does not exist, the
// content is merged into the existing object.
func (p *plan) apply(ctx context.Context, t *target, content map[string]any, uid types.UID) (*object, error) {
	before, err := p.read(ctx, t, true)
	if err != nil {
		return nil, err
	}
	verb, old := "create", map[string]any{}
	if before != nil {
		verb, old = "apply", before.fields
	}
	result, err := p.world.apply(ctx, t, content, uid)
	switch {
	case isNotFound(err):
		result = objectOf(merged(old, content))
	case err != nil:
		return nil, err
	}
	diff, err := patch.DiffMerge(plain(old), plain(result.fields), nil)
	if err != nil {
		return nil, fmt.Errorf("compare %v: %w", t.key, err)
	}
	if isSecret(t.kind) {
		diff = withoutSecrets(diff)
	}
	if len(diff) > 0 {
		p.add(verb, t, result.uid, diff)
	}
	p.written[t.key] = result.fields
	return result, nil
}

// delete implements world.
func (p *plan) delete(_ context.Context, t *target, uid types.UID, _ bool) error {
	p.add("delete", t, uid, nil)
	p.written[t.key] = nil
	return nil
}

func (p *plan) add(verb string, t *target, uid types.UID, diff map[string]any) {
	item := machine.Item{
		Group: t.gvk.Group, Version: t.gvk.Version, Kind: t.gvk.Kind, Namespace: t.ref.Namespace, Name: t.ref.Name,
	}
	if verb != "create" {
		item.UID = uid
	}
	p.actions = append(p.actions, Action{verb, item, diff})
}

// merged returns a copy of an object with the given fields.
func merged(old, fields map[string]any) map[string]any {
	all := maps.Clone(old)
	for name, value := range fields {
		was, wasMap := all[name].(map[string]any)
		is, isMap := value.(map[string]any)
		if wasMap && isMap {
			value = merged(was, is)
		}
		all[name] = value
	}
	return all
}

// plain returns a copy of an object without the status and without the metadata that the server sets.
func plain(fields map[string]any) map[string]any {
	u := &unstructured.Unstructured{Object: maps.Clone(fields)}
	delete(u.Object, "status")
	if metadata, ok := u.Object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, name := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink"} {
			delete(metadata, name)
		}
		u.Object["metadata"] = metadata
	}
	return u.Object
}
