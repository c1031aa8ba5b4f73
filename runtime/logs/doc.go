// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs merges the logs of many pods into one sequence of lines.
//
//	pods := client.Namespaced[corev1.Pod](c, "prod")
//	for line, err := range logs.Merge(ctx, pods, &logs.Options{LabelSelector: "app=web", Log: request.LogOptions{Follow: true}}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(line.Pod.Name, line.Container, line.Text)
//	}
//
// Package client/pod reads the log of one container.
package logs
