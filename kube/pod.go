// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package kube

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/logs"
)

// Pods returns the verbs that only pods have, in one namespace: Exec, Attach, Logs, LogLines, PortForward, Evict,
// Resize, AddEphemeralContainer, Proxy and Bind. See [pod.In].
func Pods(c *Client, namespace string) *pod.API { return pod.In(c, namespace) }

// Processes in containers.
type (
	// ExecOptions are the options of Exec: Command, Container, Stdin, TTY, NoStdout, NoStderr, BufferBytes,
	// StallTimeout. See [pod.ExecOptions].
	ExecOptions = pod.ExecOptions
	// Process is a process in a container: Stdin, Stdout and Stderr are its streams. Methods: Run and Output, which use
	// the streams to the end; Wait, Resize and Close. See [pod.Process].
	Process = pod.Process
	// ExitError is the error of a process that ended with an exit status other than 0: Code, Stderr. See
	// [pod.ExitError].
	ExitError = pod.ExitError
)

// Evictions.
type (
	// EvictOptions are the options of Evict: GracePeriod, Propagation, UID, ResourceVersion, DryRun. See
	// [request.EvictOptions].
	EvictOptions = request.EvictOptions
	// BudgetError is the error of Evict if a PodDisruptionBudget does not allow the eviction now: Budget, Detail,
	// RetryAfter, Err. See [pod.BudgetError].
	BudgetError = pod.BudgetError
)

// Logs of containers.
type (
	// LogOptions are the options of Logs and LogLines: Container, Follow, Previous, Since, SinceTime, TailLines,
	// LimitBytes, Timestamps, Stream and more. See [request.LogOptions].
	LogOptions = request.LogOptions
	// LogLine is one line of a log: Pod, Container, Time, Text, Partial. See [pod.LogLine].
	LogLine = pod.LogLine
	// MergeLogsOptions are the options of [MergeLogs]: LabelSelector, FieldSelector, Log, MaxLogs, OnError. See
	// [logs.Options].
	MergeLogsOptions = logs.Options
)

// MergeLogs yields the lines of the logs of many pods, ordered by time. With Log.Follow it also reads the logs of pods
// that start later. See [logs.Merge].
func MergeLogs(ctx context.Context, pods *API[corev1.Pod], o *MergeLogsOptions) iter.Seq2[LogLine, error] {
	return logs.Merge(ctx, pods, o)
}

// Connections to the ports of pods.
type (
	// PortForwarder connects to the ports of a pod. Methods: Dial and DialContext, which return a net.Conn, and Listen.
	// See [pod.PortForwarder].
	PortForwarder = pod.PortForwarder
	// PortForwardOptions are the options of PortForward and [PortForwardTo]: BufferBytes. See
	// [pod.PortForwardOptions].
	PortForwardOptions = pod.PortForwardOptions
	// ListenOptions are the options of PortForwarder.Listen: Addresses, LocalPort, OnConnect, OnError. See
	// [pod.ListenOptions].
	ListenOptions = pod.ListenOptions
	// PortListener is a local port whose connections lead to a pod. Methods: Addrs, Run and Close. See
	// [pod.PortListener].
	PortListener = pod.PortListener
)

// PortForwardTo returns a [PortForwarder] to the ready pods that an object selects, such as a Service or a Deployment.
// See [pod.PortForwardTo].
func PortForwardTo[K any](
	ctx context.Context, api *API[K], name string, o *PortForwardOptions,
) (*PortForwarder, error) {
	return pod.PortForwardTo(ctx, api, name, o)
}
