// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
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
	return &unstructured.Unstructured{Object: content}, err
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

// putScale serves the replacement of a Scale.
func (c *call) putScale(o metav1.UpdateOptions) error {
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	gvk := autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scale, _, err := typed.Decode(data, mediaType, gvk, false)
	if err != nil {
		return err
	}
	return c.scale(o.DryRun, o.FieldManager, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return scale, nil
	})
}

// patchScale serves a patch of a Scale.
func (c *call) patchScale(data []byte, mediaType string, o metav1.PatchOptions) error {
	gvk := autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	m, err := fields.New(builtin.Schemas(), gvk, nil)
	if err != nil {
		return err
	}
	return c.scale(o.DryRun, o.FieldManager, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		patched, err := m.Patch(live.Object, mediaType, data, o.FieldValidation)
		if err != nil {
			return nil, err
		}
		scale, _, err := typed.FromMap(patched.Object, gvk)
		if err != nil {
			return nil, patched.Invalid(err.Error())
		}
		return scale, nil
	})
}

// scale sets the replicas of an object to those of a Scale.
func (c *call) scale(
	dryRun []string, manager string, change func(*unstructured.Unstructured) (*unstructured.Unstructured, error),
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
		after, err := change(before)
		if err != nil {
			return nil, err
		}
		obj, err := w.scaled(live, after)
		if err != nil {
			return nil, err
		}
		if obj, err = w.update(live, obj, false); err != nil {
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
		return nil, apierrors.NewInvalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), w.ref.Name,
			field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0")})
	}
	obj := live.DeepCopy()
	obj.SetResourceVersion(scale.GetResourceVersion())
	if obj.GetResourceVersion() == "" {
		obj.SetResourceVersion(live.GetResourceVersion())
	}
	path := fieldsOf(w.kind.scalePaths().SpecReplicasPath)
	if err := unstructured.SetNestedField(obj.Object, replicas, path...); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("set the replicas: %w", err))
	}
	return obj, nil
}

// unmarshal decodes JSON as servers do: with the exact case of names, and integers as such.
func unmarshal(data []byte, into any) error { return json.Unmarshal(data, into) }
