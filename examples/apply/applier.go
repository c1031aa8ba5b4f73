// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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
	out     io.Writer // for results
	notes   io.Writer // for errors
	setID   string    // ID of the apply set; empty without one

	seen       map[string]string           // sources of the applied objects, by resource and name
	uids       map[types.UID]bool          // UIDs of the applied objects
	kinds      map[schema.GroupKind]string // names of the CustomResourceDefinitions of this run, by the kind they define
	namespaces map[string]bool             // namespaces that only a dry run has created
}

func newApplier(c *kube.Client, o options, out, notes io.Writer) *applier {
	return &applier{
		client: c, mapper: kube.NewMapper(c, nil), options: o, out: out, notes: notes,
		seen: map[string]string{}, uids: map[types.UID]bool{},
		kinds: map[schema.GroupKind]string{}, namespaces: map[string]bool{},
	}
}

// all applies the objects in order. It prints the error of each object that cannot be applied and continues with the
// next one.
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

// explain returns the message of an error. For a conflict, it names the other field managers and the remedy.
func explain(err error) string {
	conflicts := kube.Conflicts(err)
	if len(conflicts) == 0 {
		return err.Error()
	}
	var b strings.Builder
	if op, ok := errors.AsType[*kube.OpError](err); ok {
		fmt.Fprintf(&b, "%s %s %s: ", op.Verb, op.Resource, op.Ref)
	}
	b.WriteString("other field managers own fields with different values:")
	for _, c := range conflicts {
		fmt.Fprintf(&b, "\n  %s", c)
	}
	b.WriteString("\n  remove these fields from the file, or use -force to take ownership")
	return b.String()
}

// one applies an object and prints the result.
func (a *applier) one(ctx context.Context, obj object) error {
	if a.options.dryRun && a.kinds[kindOf(obj)] != "" {
		a.report(obj.GetKind()+" "+kube.RefOf(obj).String(), unchecked("kind"))
		return nil
	}
	api, err := a.apiOf(ctx, obj)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s %s", api.Resource(), kube.ObjectRef{Namespace: api.Namespace(), Name: obj.GetName()})
	if first, ok := a.seen[name]; ok {
		return fmt.Errorf("%s is a duplicate: the first one is in %s", name, first)
	}
	a.seen[name] = obj.source
	if a.namespaces[api.Namespace()] {
		a.report(name, unchecked("namespace"))
		return nil
	}
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
	a.report(name, compare(before, after))
	return a.follow(ctx, api, obj, before == nil)
}

func (a *applier) report(name, result string) {
	if a.options.dryRun {
		result += " (dry run)"
	}
	fmt.Fprintln(a.out, name, result)
}

// join makes an object a member of the apply set. It returns an error if the object is a member of another set.
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
		return fmt.Errorf("label %s is the ID of another apply set: remove it from the file", labelPartOf)
	}
	labels[labelPartOf] = a.setID
	obj.SetLabels(labels)
	return nil
}

// compare returns the result of an apply: created, unchanged or configured.
func compare(before, after *unstructured.Unstructured) string {
	if before == nil {
		return "created"
	}
	if reflect.DeepEqual(desired(before), desired(after)) {
		return "unchanged"
	}
	return "configured"
}

// desired returns an object without the fields that can change while the desired state does not.
func desired(obj *unstructured.Unstructured) map[string]any {
	own := obj.DeepCopy()
	own.SetManagedFields(nil)
	own.SetResourceVersion("")
	own.SetGeneration(0)
	delete(own.Object, "status")
	return own.Object
}

// follow records namespaces and kinds that later objects need. It waits until a new kind is established and
// its names are accepted.
func (a *applier) follow(
	ctx context.Context, api *kube.API[unstructured.Unstructured], obj object, created bool,
) error {
	if isNamespace(kindOf(obj)) && created && a.options.dryRun {
		a.namespaces[obj.GetName()] = true
	}
	if !isCRD(kindOf(obj)) || a.options.dryRun && !created {
		return nil
	}
	a.kinds[definedKind(obj)] = obj.GetName()
	if a.options.dryRun {
		return nil
	}
	ctx, cancel := a.limit(ctx)
	defer cancel()
	_, err := kube.Await(ctx, api, obj.GetName(), kube.Ready, nil)
	return err
}

// definedKind returns the kind that a CustomResourceDefinition defines.
func definedKind(crd object) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// unchecked is the result for an object that a dry run can't send, because its kind or its namespace does not exist yet.
func unchecked(missing string) string {
	return "created, not validated: its " + missing + " does not exist yet"
}

// apiOf returns the API of an object's kind and namespace. It waits until the server serves a kind that this run has
// defined.
func (a *applier) apiOf(ctx context.Context, obj object) (*kube.API[unstructured.Unstructured], error) {
	res, err := a.mapper.ForObject(ctx, obj)
	defined := a.kinds[kindOf(obj)] != ""
	if _, unknown := errors.AsType[*kube.UnknownResourceError](err); unknown && defined {
		res, err = a.awaitKind(ctx, obj)
	}
	if err != nil {
		return nil, err
	}
	return kube.Dynamic(a.client, res).In(a.namespaceOf(res, obj.GetNamespace())), nil
}

func (a *applier) namespaceOf(res kube.Resource, namespace string) string {
	if res.Namespaced {
		return cmp.Or(namespace, a.options.namespace)
	}
	return namespace
}

// awaitKind waits until the discovery API lists a kind, which is shortly after its definition is established.
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
