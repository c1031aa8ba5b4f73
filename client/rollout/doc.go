// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout restarts the pods of workloads: of deployments, stateful sets and daemon sets.
//
// Use it after a change that pods read only when they start, such as that of a secret. The controller of the workload
// replaces the pods one after the other, as its update strategy specifies.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	deployments := client.Namespaced[appsv1.Deployment](c, "prod")
//	web, err := rollout.Restart(ctx, deployments, "web", nil)
//	if err != nil {
//		return err
//	}
//	_, err = wait.Await(ctx, deployments, web.Name, wait.Ready, nil) // until all pods are replaced
//
// # Errors
//
// The error is a [client.OpError]. A deployment that is paused is a [*request.InvalidError], since no pod would be
// replaced.
//
// # Concurrency
//
// [Restart] is safe for concurrent use. If another client changes the workload at the same time, it reads it again.
package rollout
