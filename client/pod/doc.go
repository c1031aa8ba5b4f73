// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package pod holds the verbs that only pods have: running commands, attaching, reading logs, forwarding ports,
// proxying, evicting, binding, resizing, and adding ephemeral containers.
//
//	pods := pod.In(c, "prod")
//	proc, err := pods.Exec(ctx, "web-0", &pod.ExecOptions{Command: []string{"cat", "/etc/hosts"}})
//	if err != nil {
//		return err
//	}
//	hosts, err := proc.Output()
//
// The verbs that every kind has, such as get and list, are those of [client.API]. Package client/podfiles copies files
// in and out of containers, and package runtime/logs merges the logs of many pods.
//
// # Permissions
//
// Running a command requires the verbs get and create for pods/exec, attaching for pods/attach, and forwarding a port
// for pods/portforward. The request is a GET, for which servers check the verb get; since Kubernetes 1.35, they also
// check create. Forwarding to a named port of a pod also requires get for pods, and forwarding to another object, such
// as a Service, get for that object and list for pods.
//
// # Errors
//
// Each verb wraps its error in one [client.OpError].
//
// # Concurrency
//
// All types are safe for concurrent use unless their comments state otherwise.
package pod
