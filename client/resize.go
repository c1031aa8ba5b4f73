// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Resize changes the CPU and memory of a container while it runs, and returns the pod as stored; its status tells what
// becomes of it. Resources is a corev1.ResourceRequirements, or any value that encodes to the same JSON; what it does not
// set stays as it is. The server takes it from Kubernetes 1.33 on.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid]; a [*request.InvalidError] for other kinds than pods.
func (a *API[K]) Resize(ctx context.Context, pod, container string, resources any, o *request.PatchOptions) (*K, error) {
	if err := a.only("resized", "pods"); err != nil {
		return nil, wrap("patch", a.named(pod), err)
	}
	wanted, err := fieldsOf("resources", resources)
	switch {
	case err != nil:
	case container == "":
		err = &request.InvalidError{Field: "container", Detail: "is empty; name one of the pod's"}
	case len(wanted) == 0:
		err = &request.InvalidError{Field: "resources", Detail: "are empty; say what to change"}
	}
	if err != nil {
		return nil, wrap("patch", a.named(pod), err)
	}
	return a.Subresource("resize").Patch(ctx, pod, request.StrategicMergePatch(map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": container, "resources": wanted}},
	}}), o)
}

// fieldsOf returns the fields of a value that encodes to a JSON object.
func fieldsOf(field string, value any) (map[string]any, error) {
	var fields map[string]any
	data, err := wire.MarshalJSON(value)
	if err == nil {
		err = wire.UnmarshalJSON(data, &fields)
	}
	if err != nil {
		return nil, &request.InvalidError{Field: field, Detail: err.Error()}
	}
	return fields, nil
}
