// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait waits until a condition holds for one object, or until the object is deleted, and can delete it first.
//
// Use it in commands, installers and tests. A controller does not wait: it returns, and its reconcile function is
// called again after the next change.
//
//	ctx, cancel := context.WithTimeout(ctx, time.Minute)
//	defer cancel()
//	pod, err := wait.Await(ctx, pods, "web-0", func(pod *corev1.Pod) error {
//		if pod.Status.Phase != corev1.PodRunning {
//			return fmt.Errorf("phase is %s", pod.Status.Phase)
//		}
//		return nil
//	}, nil)
//	…
//	err = wait.Gone(ctx, pods, pod.Name, pod.UID, nil)       // another client deletes it
//	err = wait.DeleteAndWait(ctx, pods, pod.Name, nil)
//
// [Await] lists the object once and then watches it; it does not poll. A [Condition] returns what is missing, and the
// error of a wait that times out contains it:
//
//	await pods prod/web-0: context deadline exceeded; last seen: phase is Pending
//
// # Conditions
//
// [Ready] knows when an object of any kind is ready: a Deployment is rolled out, a Job is complete, the kind of a
// CustomResourceDefinition is served, a custom resource has the condition Ready. [StatusCondition] and [JSONPath] check
// what kubectl wait checks. They work with every Go type of the kind: with the struct of k8s.io/api, with a lean struct
// and with unstructured.Unstructured. A struct that does not declare the fields that a condition needs is an error.
//
//	deployment, err := wait.Await(ctx, deployments, "web", wait.Ready, nil)
//	pod, err := wait.Await(ctx, pods, "web-0", wait.JSONPath[corev1.Pod]("{.status.phase}", "Running"), nil)
//
// # Errors
//
// Set the deadline in the context; an error matches the context's cause. The wait continues after a watch ends or
// breaks, and while a server is down or busy, with growing pauses; these failures are logged to [Options.Logger]. A
// failure that does not pass ends the wait at once: a missing permission, a kind that is not served, an object that
// does not decode, an error marked by [core.Terminal], such as that of [Ready] for a failed Job. For a controller that
// returns the error of a wait, it is not terminal: the object may be repaired, so the controller tries again.
//
// # Permissions
//
// The verbs list and watch for the kind, and get and delete for [DeleteAndWait]. They may be restricted to the name of
// the object. A wait for a deletion reads the discovery documents if the server does not serve the kind, which every
// authenticated user may do by default.
//
// # Concurrency
//
// The functions start no goroutine: conditions are called in the goroutine of the caller.
package wait
