// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/definition"
	"github.com/kube-go/sdk/kubetest/internal/fields"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// scalePaths returns where the kind has its numbers of replicas.
func (k *kind) scalePaths() definition.Scale {
	if k.custom != nil && k.custom.Scale != nil {
		return *k.custom.Scale
	}
	return definition.Scale{
		SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: ".spec.selector",
	}
}

// liveScale returns the Scale of the stored object.
func (w *write) liveScale() (*unstructured.Unstructured, error) {
	live, err := w.live()
	if err != nil {
		return nil, err
	}
	path := w.kind.scalePaths().SpecReplicasPath
	if _, ok, _ := unstructured.NestedFieldNoCopy(live.Object, fieldsOf(path)...); !ok && w.kind.custom != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", path))
	}
	return w.scaleOf(live)
}

func (w *write) scaleOf(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	paths := w.kind.scalePaths()
	scale := autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: live.GetName(), Namespace: live.GetNamespace(), UID: live.GetUID(),
			ResourceVersion: live.GetResourceVersion(), CreationTimestamp: live.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: number(live, paths.SpecReplicasPath)},
		Status: autoscalingv1.ScaleStatus{Replicas: number(live, paths.StatusReplicasPath), Selector: selector(live, paths)},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&scale)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: content}
	return obj, w.kind.replicas().ToScale(live, obj)
}

func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func number(obj *unstructured.Unstructured, path string) int32 {
	n, _, _ := unstructured.NestedInt64(obj.Object, fieldsOf(path)...)
	return int32(n)
}

// selector returns the label selector of the pods, as a string.
func selector(obj *unstructured.Unstructured, paths definition.Scale) string {
	if paths.LabelSelectorPath == "" {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, fieldsOf(paths.LabelSelectorPath)...)
	switch value := value.(type) {
	case string:
		return value
	case map[string]any:
		var s metav1.LabelSelector
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, &s); err == nil {
			return metav1.FormatLabelSelector(&s)
		}
	}
	return ""
}

// scaleManager returns the manager of the fields of the Scale of the kind.
func (k *kind) scaleManager() (*fields.Manager, error) {
	var custom *fields.Custom
	if k.custom != nil {
		custom = &fields.Custom{}
	}
	return fields.New(builtin.Schemas(), scaleKind(), custom)
}

func scaleKind() schema.GroupVersionKind { return autoscalingv1.SchemeGroupVersion.WithKind("Scale") }

// putScale serves the replacement of a Scale.
func (c *call) putScale(o metav1.UpdateOptions) error {
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	scale, _, err := typed.Decode(data, mediaType, scaleKind(), false)
	if err != nil {
		return err
	}
	return c.scale(o.DryRun, o.FieldManager, func(w *write, live *unstructured.Unstructured) (
		*unstructured.Unstructured, error,
	) {
		m, err := w.kind.scaleManager()
		if err != nil {
			return nil, err
		}
		return m.Update(live, scale, c.subresource, w.manager), nil
	})
}

// patchScale serves a patch of a Scale, or an apply.
func (c *call) patchScale(data []byte, mediaType string, o metav1.PatchOptions) error {
	return c.scale(o.DryRun, o.FieldManager, func(w *write, live *unstructured.Unstructured) (
		*unstructured.Unstructured, error,
	) {
		m, err := w.kind.scaleManager()
		if err != nil {
			return nil, err
		}
		if types.PatchType(mediaType) == types.ApplyYAMLPatchType {
			config, _, err := fields.Decode(data)
			if err != nil {
				return nil, err
			}
			return m.Apply(live, config, c.subresource, w.manager, o.Force != nil && *o.Force)
		}
		patched, err := m.Patch(live.Object, mediaType, data, o.FieldValidation)
		if err != nil {
			return nil, err
		}
		scale, _, err := typed.FromMap(patched.Object, scaleKind())
		if err != nil {
			return nil, patched.Invalid(err.Error())
		}
		return m.Update(live, scale, c.subresource, w.manager), nil
	})
}

// scale sets the replicas of an object to those of the Scale that change returns.
func (c *call) scale(
	dryRun []string, manager string, change func(*write, *unstructured.Unstructured) (*unstructured.Unstructured, error),
) error {
	scale, err := c.change(dryRun, manager, "", func(w *write) (*unstructured.Unstructured, error) {
		live, err := w.live()
		if err != nil {
			return nil, err
		}
		before, err := w.scaleOf(live)
		if err != nil {
			return nil, err
		}
		after, err := change(w, before)
		if err != nil {
			return nil, err
		}
		obj, err := w.scaled(live, after)
		if err != nil {
			return nil, err
		}
		if obj, err = w.update(live, obj, true); err != nil {
			return nil, err
		}
		return w.scaleOf(obj)
	})
	if err != nil {
		return err
	}
	respond(c.w, http.StatusOK, scale.Object)
	return nil
}

// scaled returns live with the replicas of a Scale.
func (w *write) scaled(live, scale *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := w.checkName(scale); err != nil {
		return nil, err
	}
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if replicas < 0 {
		return nil, w.negative(replicas)
	}
	obj := live.DeepCopy()
	if version := scale.GetResourceVersion(); version != "" {
		obj.SetResourceVersion(version)
	}
	path := fieldsOf(w.kind.scalePaths().SpecReplicasPath)
	if err := unstructured.SetNestedField(obj.Object, replicas, path...); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("set the replicas: %w", err))
	}
	return obj, w.kind.replicas().FromScale(scale, obj)
}

// negative returns the error for a negative number of replicas.
func (w *write) negative(replicas int64) error {
	kind, path, text := scaleKind().GroupKind(), "spec.replicas", "must be greater than or equal to 0"
	if w.kind.custom != nil {
		kind, path = w.kind.GroupVersionKind().GroupKind(), w.kind.scalePaths().SpecReplicasPath
		text = "should be a non-negative integer"
	}
	return apierrors.NewInvalid(kind, w.ref.Name, field.ErrorList{field.Invalid(field.NewPath(path), replicas, text)})
}
