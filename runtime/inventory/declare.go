// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/wait"
)

// Declaration is an object that should exist. A pass may declare an object several times, in the same way.
type Declaration struct {
	// Object has the fields that should have a certain value, and a name. It is a struct of any kind or an unstructured
	// object; see [client.API.Apply] for the fields of a struct that count as set. If it is namespaced and has no
	// namespace, it belongs to the namespace of the owner.
	Object core.Object

	// Wave orders objects: those of a wave are applied when all objects of lower waves that the pass has declared are
	// ready, and are deleted before those of lower waves.
	Wave int32

	// Part is stored with the item, for the function of [Pass.Prune], such as the state of a machine that has declared the
	// object. If a pass declares the object again, the Part of the first declaration counts. Default: none.
	Part string

	// Ready returns why the object is not ready, or nil. An error that is marked by [core.Terminal] is an error of the
	// pass if there are higher waves. Default: [wait.Ready], which needs a condition or an observedGeneration if Object
	// has a custom type that declares status.conditions. If the controller of the kind never sets any, set Ready.
	Ready wait.Condition[unstructured.Unstructured]

	NoOwner    bool // mark the object by an annotation, although an owner reference is possible
	Adopt      bool // take over an existing object that belongs to nobody, or to an earlier object of the owner's name
	Foreground bool // delete the objects that this one owns before this one
}

// declared is a declaration that a pass has read.
type declared struct {
	Declaration

	target target
	sum    sum    // of the object and its mark
	hash   string // of what is applied, without the values of a Secret

	reached bool    // its wave has been applied
	live    *object // after the wave has been applied
	changed bool    // the plan changes it
}

// target is an object in the API.
type target struct {
	key

	gvk      schema.GroupVersionKind
	resource core.Resource
	sample   core.Object // has the Go type of the object, or is nil
}

// declare reads the declarations of a call.
func (p *Pass) declare(ctx context.Context, all []Declaration) ([]*declared, error) {
	list := make([]*declared, 0, len(all))
	var errs []error
	for i, one := range all {
		d, err := p.declareOne(ctx, one, all)
		if err != nil {
			errs = append(errs, fmt.Errorf("declaration %d of %d%s: %w", i+1, len(all), describe(one.Object), err))
			continue
		}
		list = append(list, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, d := range list {
		if p.deleted[d.target.key] {
			return nil, fmt.Errorf("%v %w", d.target.key, ErrDeclared)
		}
		if old := p.declared[d.target.key]; old != nil {
			if what := old.differs(d); what != "" {
				return nil, fmt.Errorf("%v is declared twice in the same pass, with different %s", d.target.key, what)
			}
			list[i] = old
			continue
		}
		p.declared[d.target.key] = d
		p.order = append(p.order, d)
	}
	return list, nil
}

// differs returns in what another declaration of the same object differs, or "". The Part may differ, since two states
// of a machine may declare an object. Functions can't be compared.
func (d *declared) differs(other *declared) string {
	switch {
	case d.sum != other.sum:
		return "content"
	case d.Wave != other.Wave:
		return "values of Wave"
	case d.Foreground != other.Foreground:
		return "values of Foreground"
	case d.Adopt != other.Adopt:
		return "values of Adopt"
	case (d.Ready == nil) != (other.Ready == nil):
		return "values of Ready"
	}
	return ""
}

// describe returns the type and the name of an object for an error.
func describe(obj core.Object) string {
	if isNil(obj) {
		return ""
	}
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(obj).Elem().Name()
	}
	return ", " + kind + " " + strconv.Quote(core.RefOf(obj).String())
}

// isNil reports whether an interface holds nothing, or a nil pointer.
func isNil(x any) bool {
	v := reflect.ValueOf(x)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// declareOne reads one declaration. The others may define its kind.
func (p *Pass) declareOne(ctx context.Context, one Declaration, all []Declaration) (*declared, error) {
	if isNil(one.Object) {
		return nil, errors.New("the object is nil")
	}
	obj := copyOf(one.Object)
	switch {
	case obj.GetName() == "" && obj.GetGenerateName() != "":
		return nil, errors.New("the object has generateName: set a name, since each pass must find the same object")
	case obj.GetName() == "":
		return nil, errors.New("the name is empty")
	case obj.GetUID() != "" || obj.GetResourceVersion() != "" || len(obj.GetManagedFields()) > 0:
		return nil, errors.New("the object has a UID, a resource version or managed fields: " +
			"declare a new object with only the wanted fields instead of one that was read")
	}
	t, err := p.target(ctx, obj, all)
	if err != nil {
		return nil, err
	}
	o := &p.owner
	if r := o.reference; t.ref == (core.ObjectRef{Namespace: o.namespace, Name: r.Name}) && t.kind.Kind == r.Kind &&
		t.kind.Group == schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).Group {
		return nil, errors.New("the object is its own owner")
	}
	obj.SetNamespace(t.ref.Namespace)
	d := &declared{Declaration: one, target: t}
	mark := "annotation " + o.value()
	if d.referenced(o) {
		if metav1.GetControllerOf(obj) != nil {
			return nil, errors.New("the object has a controller: leave out the owner references, or set NoOwner")
		}
		mark = "reference " + string(o.reference.UID)
	}
	raw, err := wire.MarshalJSON(obj)
	if err != nil {
		return nil, err
	}
	d.sum = sumOf(raw, []byte(mark))
	if known, ok := p.applier.memos.get(t.key); ok && known.sum == d.sum {
		d.hash = known.hash
		return d, nil
	}
	d.hash, err = d.hashOf(o)
	return d, err
}

// hashOf returns the hash of what is applied. It does not depend on the values of a Secret, since it is stored.
func (d *declared) hashOf(o *owner) (string, error) {
	content, err := d.content(o)
	if err != nil {
		return "", err
	}
	if isSecret(d.target.kind) {
		content = withoutSecrets(content)
	}
	data, err := wire.MarshalJSON(content)
	if err != nil {
		return "", err
	}
	hash := sumOf(data)
	return hex.EncodeToString(hash[:8]), nil
}

// referenced reports whether the object has an owner reference.
func (d *declared) referenced(o *owner) bool { return !d.NoOwner && o.controls(d.target.ref.Namespace) }

// content returns a new copy of the object to apply, with the mark of the owner.
func (d *declared) content(o *owner) (map[string]any, error) {
	raw, err := wire.MarshalApply(copyOf(d.target.sample), d.target.resource, nil)
	if err != nil {
		if zero, ok := errors.AsType[*wire.ZeroValueError](err); ok {
			err = fmt.Errorf("%w: set the value, or declare an unstructured object or a generated apply struct without it", zero)
		}
		return nil, err
	}
	u := new(unstructured.Unstructured)
	if err := wire.UnmarshalJSON(raw, &u.Object); err != nil {
		return nil, err
	}
	if isSecret(d.target.kind) {
		mergeStringData(u.Object)
	}
	if d.referenced(o) {
		u.SetOwnerReferences(append(u.GetOwnerReferences(), o.reference))
		return u.Object, nil
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[o.mark] = o.value()
	u.SetAnnotations(annotations)
	return u.Object, nil
}

// item returns the item of the object.
func (d *declared) item() machine.Item {
	return machine.Item{
		Group: d.target.gvk.Group, Version: d.target.gvk.Version, Kind: d.target.gvk.Kind,
		Namespace: d.target.ref.Namespace, Name: d.target.ref.Name, Part: d.Part, Wave: d.Wave, Foreground: d.Foreground,
	}
}

// target returns which object of the API is meant. The kind of an object without a Go type may be defined by one of the
// declarations, which may not be applied yet.
func (p *Pass) target(ctx context.Context, obj core.Object, all []Declaration) (target, error) {
	res, err := core.ResourceOfObject(obj)
	gvk := res.GroupVersionKind()
	switch _, unknown := errors.AsType[*core.UnknownKindError](err); {
	case err == nil:
		p.applier.kinds.LoadOrStore(gvk.GroupKind(), res)
	case !unknown:
		return target{}, err
	default:
		if gvk = obj.GetObjectKind().GroupVersionKind(); gvk.Kind == "" || gvk.Version == "" {
			return target{}, errors.New("the object has no apiVersion or no kind: set both")
		}
		if res, err = p.resourceOf(ctx, gvk, all); err != nil {
			return target{}, err
		}
		res.Group, res.Version = gvk.Group, gvk.Version
	}
	ref := core.RefOf(obj)
	if ref.Namespace == "" && res.Namespaced {
		ref.Namespace = p.owner.namespace
	}
	return target{key{gvk.GroupKind(), ref}, gvk, res, obj}, res.CheckRef(ref)
}

// resourceOf returns the resource of a kind that the server has or that a declared definition adds.
func (p *Pass) resourceOf(ctx context.Context, gvk schema.GroupVersionKind, all []Declaration) (core.Resource, error) {
	res, err := p.applier.resource(ctx, gvk)
	if _, unknown := errors.AsType[*discovery.UnknownResourceError](err); !unknown {
		return res, err
	}
	for _, d := range p.order {
		all = append(all, d.Declaration)
	}
	for _, d := range all {
		if isNil(d.Object) || d.Object.GetObjectKind().GroupVersionKind().Kind != "CustomResourceDefinition" {
			continue
		}
		var crd struct {
			Spec struct {
				Group string `json:"group"`
				Scope string `json:"scope"`
				Names struct {
					Kind   string `json:"kind"`
					Plural string `json:"plural"`
				} `json:"names"`
			} `json:"spec"`
		}
		data, jsonErr := wire.MarshalJSON(d.Object)
		if jsonErr != nil || wire.UnmarshalJSON(data, &crd) != nil {
			continue
		}
		if s := crd.Spec; s.Group == gvk.Group && s.Names.Kind == gvk.Kind {
			res := core.Resource{
				Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
				Plural: s.Names.Plural, Namespaced: s.Scope == "Namespaced",
			}
			if p.plan == nil { // otherwise, the definition may never be applied
				p.applier.kinds.LoadOrStore(gvk.GroupKind(), res)
			}
			return res, nil
		}
	}
	return core.Resource{}, err
}

// copyOf returns a shallow copy of an object with metadata of its own.
func copyOf(obj core.Object) core.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := maps.Clone(u.Object)
		if metadata, ok := content["metadata"].(map[string]any); ok {
			content["metadata"] = maps.Clone(metadata)
		}
		return &unstructured.Unstructured{Object: content}
	}
	c := reflect.New(reflect.TypeOf(obj).Elem())
	c.Elem().Set(reflect.ValueOf(obj).Elem())
	return c.Interface().(core.Object)
}
