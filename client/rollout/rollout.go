// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/request"
)

// Workload is a kind that replaces its pods when its pod template changes.
type Workload interface {
	appsv1.Deployment | appsv1.StatefulSet | appsv1.DaemonSet
}

// restartedAt is the annotation that kubectl rollout restart writes.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// Restart replaces the pods of a workload according to its update strategy. It returns the object as stored; the
// replacement continues after it returns.
//
// Errors: [core.ErrNotFound]; a [*request.InvalidError] for a Deployment that is paused.
func Restart[K Workload](ctx context.Context, api *client.API[K], name string, o *client.ModifyOptions) (*K, error) {
	return api.Modify(ctx, name, func(obj *K) error {
		var template *corev1.PodTemplateSpec
		switch w := any(obj).(type) {
		case *appsv1.Deployment:
			if w.Spec.Paused {
				return &request.InvalidError{
					Field: "spec.paused", Detail: "is true, so no pod would be replaced; resume the rollout first",
				}
			}
			template = &w.Spec.Template
		case *appsv1.StatefulSet:
			template = &w.Spec.Template
		case *appsv1.DaemonSet:
			template = &w.Spec.Template
		}
		if template.Annotations == nil {
			template.Annotations = map[string]string{}
		}
		template.Annotations[restartedAt] = time.Now().UTC().Format(time.RFC3339Nano)
		return nil
	}, o)
}
