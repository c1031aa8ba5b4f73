// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait waits until a condition holds for one object, or until the object is deleted, and can delete it first.
//
// Use it in commands, installers and tests. A controller does not wait: it returns and is run again when something
// changes.
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
//	err = wait.Gone(ctx, pods, pod.Name, pod.UID, nil)       // somebody else deletes it
//	err = wait.DeleteAndWait(ctx, pods, pod.Name, nil)
//
// [Await] reads the object once and then watches it; it does not poll. A [Condition] returns what is still missing, so
// that an error tells what the wait was about:
//
//	await pods prod/web-0: context deadline exceeded; last seen: phase is Pending
//
// # Errors
//
// The deadline is the context's; errors match its cause. A watch that ends or breaks and a server that is down or busy
// are overcome, with growing pauses; [Options.Logger] hears of it. What waiting does not mend ends it at once: a
// missing permission, a kind that is not served, an object that does not decode, an error marked by [Never].
//
// # Permissions
//
// The verbs list and watch on the kind, and get and delete for [DeleteAndWait]; they may be limited to the name of the
// object.
//
// # Concurrency
//
// Everything runs in the goroutine of the caller, conditions too.
package wait
