// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// postSubresource serves the subresources that are created.
func (c *call) postSubresource() error {
	if c.kind.stored() != pods() {
		return unsupported("the subresource " + c.subresource)
	}
	switch c.subresource {
	case "eviction":
		return c.evict()
	case "binding":
		return c.bind()
	default:
		return unsupported("the subresource " + c.subresource)
	}
}

// decodeAs decodes the body of a request as an object of another kind.
func (c *call) decodeAs(gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	data, mediaType, err := c.body()
	if err != nil {
		return nil, err
	}
	obj, _, err := typed.Decode(data, mediaType, gvk, false)
	return obj, err
}

// bind sets the node of a pod.
func (c *call) bind() error {
	binding, err := c.decodeAs(schema.GroupVersionKind{Version: "v1", Kind: "Binding"})
	if err != nil {
		return err
	}
	var o metav1.CreateOptions
	if err := options(c, &o, "CreateOptions", validation.ValidateCreateOptions); err != nil {
		return err
	}
	if binding.GetName() != c.ref.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	node, _, _ := unstructured.NestedString(binding.Object, "target", "name")
	if node == "" {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Binding"}, c.ref.Name, field.ErrorList{
			field.Required(field.NewPath("target", "name"), ""),
		})
	}
	_, err = c.change(o.DryRun, o.FieldManager, "", func(w *write) (*unstructured.Unstructured, error) {
		return w.assign(node, binding)
	})
	if err != nil {
		return err
	}
	respond(c.w, http.StatusCreated, success(http.StatusCreated))
	return nil
}

// assign sets the node of a pod that has none, and adds the annotations and labels of a binding.
func (w *write) assign(node string, binding *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := w.live()
	if err != nil {
		return nil, err
	}
	if err := w.checkUID(live, binding); err != nil {
		return nil, err
	}
	if live.GetDeletionTimestamp() != nil {
		return nil, w.bindingConflict(fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", w.ref.Name))
	}
	if got, _, _ := unstructured.NestedString(live.Object, "spec", "nodeName"); got != "" {
		return nil, w.bindingConflict(fmt.Sprintf("pod %s is already assigned to node %q", w.ref.Name, got))
	}
	if gates, _, _ := unstructured.NestedSlice(live.Object, "spec", "schedulingGates"); len(gates) > 0 {
		return nil, w.bindingConflict(fmt.Sprintf("pod %s has non-empty .spec.schedulingGates", w.ref.Name))
	}
	obj := live.DeepCopy()
	setNested(obj, node, "spec", "nodeName")
	unstructured.RemoveNestedField(obj.Object, "status", "nominatedNodeName")
	for name, value := range binding.GetAnnotations() {
		setNested(obj, value, "metadata", "annotations", name)
	}
	for name, value := range binding.GetLabels() {
		setNested(obj, value, "metadata", "labels", name)
	}
	setScheduled(obj)
	return w.tx.Put(w.key(), obj), nil
}

// setScheduled sets the condition of a pod that has a node.
func setScheduled(obj *unstructured.Unstructured) {
	scheduled := map[string]any{
		"type": "PodScheduled", "status": "True", "lastProbeTime": nil,
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
	list := conditions(obj)
	i := slices.IndexFunc(list, func(element any) bool {
		c, ok := element.(map[string]any)
		return ok && c["type"] == scheduled["type"]
	})
	if i < 0 {
		list = append(list, scheduled)
	} else {
		if before, _ := list[i].(map[string]any); before["status"] == scheduled["status"] {
			scheduled["lastTransitionTime"] = before["lastTransitionTime"]
		}
		list[i] = scheduled
	}
	setNested(obj, list, "status", "conditions")
}

func (w *write) bindingConflict(text string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, w.ref.Name, errors.New(text))
}

// success returns the Status of a success.
func success(code int32) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: code,
	}
}
