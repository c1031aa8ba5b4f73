// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/request"
)

// restartedAt is the annotation by which kubectl, too, makes a pod template differ from the one before.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart replaces the pods of a deployment, a stateful set or a daemon set one after the other, as its update strategy
// says, by pods of the same making. It returns the object as stored; the replacing has then begun.
//
// Errors: [core.ErrNotFound]; a [*request.InvalidError] for other kinds, and for a deployment that is paused.
func (a *API[K]) Restart(ctx context.Context, name string, o *ModifyOptions) (*K, error) {
	if err := a.only("restarted", "deployments.apps", "statefulsets.apps", "daemonsets.apps"); err != nil {
		return nil, wrap("restart", a.named(name), err)
	}
	return a.modifyAny(ctx, name, func(obj map[string]any) error {
		if paused, _, _ := unstructured.NestedBool(obj, "spec", "paused"); paused {
			return &request.InvalidError{Field: "spec.paused", Detail: "is true, so that nothing would be replaced; resume it first"}
		}
		now := time.Now().UTC().Format(time.RFC3339Nano)
		return unstructured.SetNestedField(obj, now, "spec", "template", "metadata", "annotations", restartedAt)
	}, o)
}
