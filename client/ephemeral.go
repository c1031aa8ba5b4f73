// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// AddEphemeralContainer starts one more container in a running pod, such as one with tools to look into the others, and
// returns the pod as stored; the container runs a moment later. It can't be removed before the pod goes. The container is
// a corev1.EphemeralContainer, or any value that encodes to the same JSON.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] when there is a container of that name; a [*request.InvalidError] for
// other kinds than pods, and for a container without a name.
func (a *API[K]) AddEphemeralContainer(ctx context.Context, pod string, container any, o *request.PatchOptions) (*K, error) {
	if err := a.only("given containers", "pods"); err != nil {
		return nil, wrap("patch", a.named(pod), err)
	}
	added, err := fieldsOf("container", container)
	if name, _ := added["name"].(string); err == nil && name == "" {
		err = &request.InvalidError{Field: "container.name", Detail: "is empty; name the container"}
	}
	if err != nil {
		return nil, wrap("patch", a.named(pod), err)
	}
	patch := request.StrategicMergePatch(map[string]any{"spec": map[string]any{"ephemeralContainers": []any{added}}})
	return a.Subresource("ephemeralcontainers").Patch(ctx, pod, patch, o)
}
