// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/fields"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// patch is a patch of an object.
type patch struct {
	*call
	write     *write
	data      []byte
	mediaType string
	force     bool // an apply takes over the fields of other managers
}

// applies returns whether the patch is a server-side apply.
func (p *patch) applies() bool { return types.PatchType(p.mediaType) == types.ApplyYAMLPatchType }

// create creates the object of an apply.
func (p *patch) create() (*unstructured.Unstructured, error) {
	obj, err := p.apply(nil)
	if err != nil {
		return nil, err
	}
	if uid := obj.GetUID(); uid != "" {
		return nil, apierrors.NewConflict(p.kind.resource(), p.ref.Name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	if err := p.write.checkName(obj); err != nil {
		return nil, err
	}
	obj.SetResourceVersion("")
	return p.write.create(obj, true)
}

// change changes the live object.
func (p *patch) change() (*unstructured.Unstructured, error) {
	live, err := p.write.live()
	if err != nil {
		return nil, err
	}
	if p.applies() {
		obj, err := p.apply(live)
		if err != nil {
			return nil, err
		}
		return p.write.update(live, obj, true)
	}
	m, err := p.kind.fields()
	if err != nil {
		return nil, err
	}
	patched, err := m.Patch(live.Object, p.mediaType, p.data, p.write.validation)
	if err != nil {
		return nil, err
	}
	obj, err := p.decode(patched)
	if err != nil {
		return nil, err
	}
	return p.write.update(live, obj, false)
}

// checkPatchType returns an error if the kind has no patches of a media type.
func (c *call) checkPatchType(mediaType string) error {
	m, err := c.kind.fields()
	if err != nil {
		return err
	}
	return m.CheckType(mediaType)
}

// decode returns the object that results from a patch.
func (p *patch) decode(patched *fields.Patched) (*unstructured.Unstructured, error) {
	obj, unknown, err := p.kind.complete(&unstructured.Unstructured{Object: patched.Object})
	if err != nil {
		return nil, patched.Invalid(err.Error())
	}
	switch p.write.validation {
	case metav1.FieldValidationStrict:
		if len(unknown)+len(patched.Problems) > 0 {
			return nil, patched.InvalidFields(unknown)
		}
	case metav1.FieldValidationWarn:
		for _, text := range append(patched.Problems, unknown...) {
			p.write.warn(text)
		}
	}
	return obj, nil
}

// apply returns live, or a new object if it is nil, with the applied fields.
func (p *patch) apply(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	config, problem, err := fields.Decode(p.data)
	if err != nil {
		return nil, err
	}
	m, err := p.kind.fields()
	if err != nil {
		return nil, err
	}
	obj, err := m.Apply(live, config, p.subresource, p.write.manager, p.force)
	if err != nil {
		return nil, err
	}
	switch {
	case problem == nil:
	case p.write.validation == metav1.FieldValidationStrict:
		return nil, problem
	case p.write.validation == metav1.FieldValidationWarn:
		p.write.warn(problem.Error())
	}
	obj, _, err = p.kind.complete(obj)
	return obj, err
}

// complete returns an object as it is decoded, with its defaults and without unknown fields, for each of which it
// returns a message. The object must not be used any more.
func (k *kind) complete(obj *unstructured.Unstructured) (*unstructured.Unstructured, []string, error) {
	if k.custom != nil {
		unknown, err := k.custom.Decode(obj)
		return obj, unknown, err
	}
	if !k.typed() { // a CustomResourceDefinition
		var unknown []string
		for _, path := range builtin.Prune(k.GroupVersionKind(), obj.Object) {
			unknown = append(unknown, fmt.Sprintf("unknown field %q", path))
		}
		return obj, unknown, nil
	}
	return typed.FromMap(obj.Object, k.GroupVersionKind())
}

// checkName returns an error if an object does not have the name of the request.
func (w *write) checkName(obj *unstructured.Unstructured) error {
	switch obj.GetName() {
	case w.ref.Name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be "+
			"provided", w.ref.Name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
		obj.GetName(), w.ref.Name))
}
