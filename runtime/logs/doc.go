// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs merges the logs of many pods into one sequence of lines.
//
// Use it to follow all replicas of a program. Package client/pod reads the log of one container.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	pods := client.Namespaced[corev1.Pod](c, "prod")
//	o := &logs.Options{LabelSelector: "app=web", Log: request.LogOptions{Follow: true}}
//	for line, err := range logs.Merge(ctx, pods, o) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(line.Pod.Name, line.Container, line.Text)
//	}
//
// # Errors
//
// An error is the last pair of the sequence: a [client.OpError], or the cause of the context in one. The first log that
// can't be read ends the sequence, unless [Options.OnError] is set; then the other logs continue. A log that breaks
// while it is followed is resumed at the line where it broke. Errors from which the watch for pods recovers are logged
// as warnings to [slog.Default].
//
// # Permissions
//
// The verb list for pods and get for pods/log. To follow logs also requires the verb watch for pods.
//
// # Concurrency
//
// The sequence reads each log in a goroutine of its own, which ends before the loop returns. It yields lines in the
// goroutine of the loop, but calls OnError in others. It starts over when it is ranged over again.
package logs
