// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout restarts the pods of workloads.
//
//	deployments := client.Namespaced[appsv1.Deployment](c, "prod")
//	_, err := rollout.Restart(ctx, deployments, "web", nil)
package rollout
