// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kube"
)

// applier applies objects.
type applier struct {
	client  *kube.Client
	mapper  *kube.Mapper
	options options
	out     io.Writer // what was done
	notes   io.Writer // what went wrong
	setID   string    // of the apply set, empty when there is none

	seen       map[string]string           // where an object stands that was applied, by its name
	uids       map[types.UID]bool          // of what was applied
	kinds      map[schema.GroupKind]string // that this run defines: the names of their definitions
	namespaces map[string]bool             // that this run would create, if it were not dry
}

func newApplier(c *kube.Client, o options, out, notes io.Writer) *applier {
	return &applier{
		client: c, mapper: kube.NewMapper(c, nil), options: o, out: out, notes: notes,
		seen: map[string]string{}, uids: map[types.UID]bool{}, kinds: map[schema.GroupKind]string{}, namespaces: map[string]bool{},
	}
}

// all applies objects, one after the other. What goes wrong with one is printed, and does not keep the others back.
func (a *applier) all(ctx context.Context, objects []object) error {
	failed := 0
	for _, obj := range objects {
		err := a.one(ctx, obj)
		if err == nil {
			continue
		}
		failed++
		fmt.Fprintf(a.notes, "%s: %s\n", obj.source, explain(err))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d objects could not be applied", failed, len(objects))
	}
	return nil
}

// explain says who is in the way, and what to do about it.
func explain(err error) string {
	conflicts := kube.Conflicts(err)
	if len(conflicts) == 0 {
		return err.Error()
	}
	var b strings.Builder
	if op, ok := errors.AsType[*kube.OpError](err); ok {
		fmt.Fprintf(&b, "%s %s %s: ", op.Verb, op.Resource, op.Ref)
	}
	b.WriteString("others own fields with other values:")
	for _, c := range conflicts {
		fmt.Fprintf(&b, "\n  %s", c)
	}
	b.WriteString("\n  leave them out, or take them over with -force")
	return b.String()
}

// one applies an object and prints what came of it.
func (a *applier) one(ctx context.Context, obj object) error {
	gk := obj.GroupVersionKind().GroupKind()
	if a.options.dryRun && (a.kinds[gk] != "" || a.namespaces[obj.GetNamespace()]) {
		return a.unchecked(ctx, obj)
	}
	api, err := a.apiOf(ctx, obj)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s %s", api.Resource(), kube.ObjectRef{Namespace: api.Namespace(), Name: obj.GetName()})
	if first, ok := a.seen[what]; ok {
		return fmt.Errorf("%s is there twice: first in %s", what, first)
	}
	a.seen[what] = obj.source
	before, err := api.GetOrNil(ctx, obj.GetName(), nil)
	if err != nil {
		return err
	}
	if err := a.join(obj, before); err != nil {
		return err
	}
	after, err := api.Apply(ctx, obj.Unstructured, &kube.ApplyOptions{
		FieldManager: a.options.manager, Force: a.options.force, DryRun: a.options.dryRun,
	})
	if err != nil {
		return err
	}
	a.uids[after.GetUID()] = true
	a.report(what, compare(before, after))
	return a.follow(ctx, api, obj, before == nil)
}

func (a *applier) report(what, outcome string) {
	if a.options.dryRun {
		outcome += " (dry run)"
	}
	fmt.Fprintln(a.out, what, outcome)
}

// join makes an object a member of the apply set, unless it is one of another set.
func (a *applier) join(obj object, before *unstructured.Unstructured) error {
	if a.setID == "" {
		return nil
	}
	if before != nil {
		if other := before.GetLabels()[labelPartOf]; other != "" && other != a.setID {
			return fmt.Errorf("%s is part of another apply set, %s", before.GetName(), other)
		}
	}
	labels := obj.GetLabels()
	switch other := labels[labelPartOf]; {
	case labels == nil:
		labels = map[string]string{}
	case other != "" && other != a.setID:
		return fmt.Errorf("it has the label %s of another apply set; remove it from the file", labelPartOf)
	}
	labels[labelPartOf] = a.setID
	obj.SetLabels(labels)
	return nil
}

// compare returns what an apply has done to an object.
func compare(before, after *unstructured.Unstructured) string {
	if before == nil {
		return "created"
	}
	if reflect.DeepEqual(desired(before), desired(after)) {
		return "unchanged"
	}
	return "configured"
}

// desired returns an object without the fields that change although its desired state does not.
func desired(obj *unstructured.Unstructured) map[string]any {
	own := obj.DeepCopy()
	own.SetManagedFields(nil)
	own.SetResourceVersion("")
	own.SetGeneration(0)
	delete(own.Object, "status")
	return own.Object
}

// follow notes what others that come later need, and waits for it.
func (a *applier) follow(ctx context.Context, api *kube.API[unstructured.Unstructured], obj object, created bool) error {
	if isNamespace(obj) && created && a.options.dryRun {
		a.namespaces[obj.GetName()] = true
	}
	if !isCRD(obj) || a.options.dryRun && !created {
		return nil
	}
	a.kinds[definedKind(obj)] = obj.GetName()
	if a.options.dryRun {
		return nil
	}
	ctx, cancel := a.limit(ctx)
	defer cancel()
	_, err := kube.Await(ctx, api, obj.GetName(), kube.Established[unstructured.Unstructured](), nil)
	return err
}

// definedKind returns the kind that a CustomResourceDefinition defines.
func definedKind(crd object) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// unchecked stands in for the apply of an object whose kind or namespace the dry run has not created.
func (a *applier) unchecked(ctx context.Context, obj object) error {
	name := obj.GetKind()
	if api, err := a.apiOf(ctx, obj); err == nil {
		name = api.Resource().String()
	}
	missing := "namespace"
	if a.kinds[obj.GroupVersionKind().GroupKind()] != "" {
		missing = "kind"
	}
	a.report(name+" "+kube.RefOf(obj).String(), "created, unchecked: its "+missing+" is not there yet")
	return nil
}

// apiOf returns the API of an object's kind and namespace. For a kind that this run has defined it waits until it is
// served.
func (a *applier) apiOf(ctx context.Context, obj object) (*kube.API[unstructured.Unstructured], error) {
	res, err := a.mapper.ForObject(ctx, obj)
	if _, unknown := errors.AsType[*kube.UnknownResourceError](err); unknown && a.kinds[obj.GroupVersionKind().GroupKind()] != "" {
		res, err = a.awaitKind(ctx, obj)
	}
	if err != nil {
		return nil, err
	}
	return kube.Dynamic(a.client, res).In(a.namespaceOf(res, obj.GetNamespace())), nil
}

func (a *applier) namespaceOf(res kube.Resource, namespace string) string {
	if res.Namespaced && namespace == "" {
		return a.options.namespace
	}
	return namespace
}

// awaitKind waits until the server says that it has a kind, which comes a moment after its definition is established.
func (a *applier) awaitKind(ctx context.Context, obj object) (kube.Resource, error) {
	ctx, cancel := a.limit(ctx)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := a.mapper.Refresh(ctx); err != nil {
			return kube.Resource{}, err
		}
		res, err := a.mapper.ForObject(ctx, obj)
		if err == nil {
			return res, nil
		}
		select {
		case <-ctx.Done():
			return kube.Resource{}, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func (a *applier) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.options.timeout, fmt.Errorf("not served after %v", a.options.timeout))
}
