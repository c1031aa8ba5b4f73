// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"iter"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/logs"
)

// Pods returns the verbs that only pods have, such as Exec and Logs, in one namespace, see [pod.In].
func Pods(c *Client, namespace string) *PodAPI { return pod.In(c, namespace) }

// Processes in containers.
type (
	// PodAPI has the verbs that only pods have, see [pod.API].
	PodAPI = pod.API
	// ExecOptions are the options of running a command in a container, see [pod.ExecOptions].
	ExecOptions = pod.ExecOptions
	// AttachOptions are the options of connecting with the process of a container, see [pod.AttachOptions].
	AttachOptions = pod.AttachOptions
	// Process is a process in a container with its streams, see [pod.Process].
	Process = pod.Process
	// ExitError is a process that ended with another exit status than 0, see [pod.ExitError].
	ExitError = pod.ExitError
)

// What may go wrong with a stream, for errors.Is.
var (
	ErrStalled     = pod.ErrStalled
	ErrNoHalfClose = pod.ErrNoHalfClose
)

// Logs of containers.
type (
	// LogOptions are the options of reading a log, see [request.LogOptions].
	LogOptions = request.LogOptions
	// LogStream is which output of a container a log is of, see [request.LogStream].
	LogStream = request.LogStream
	// LogLine is one line of a log, see [pod.LogLine].
	LogLine = pod.LogLine
	// MergeLogsOptions are the options of [MergeLogs], see [logs.Options].
	MergeLogsOptions = logs.Options
)

// MergeLogs yields the lines of the logs of many pods, ordered by time, see [logs.Merge].
func MergeLogs(ctx context.Context, pods *API[corev1.Pod], o *MergeLogsOptions) iter.Seq2[LogLine, error] {
	return logs.Merge(ctx, pods, o)
}

// The outputs that a log may be of.
const (
	LogAll    = request.LogAll
	LogStdout = request.LogStdout
	LogStderr = request.LogStderr
)

// Connections to ports of pods.
type (
	// PortForwardOptions are the options of forwarding ports, see [pod.PortForwardOptions].
	PortForwardOptions = pod.PortForwardOptions
	// PortForwarder makes connections to ports of pods, see [pod.PortForwarder].
	PortForwarder = pod.PortForwarder
	// ListenOptions are the options of a local port, see [pod.ListenOptions].
	ListenOptions = pod.ListenOptions
	// PortListener is a local port whose connections lead to a pod, see [pod.PortListener].
	PortListener = pod.PortListener
	// NoReadyPodError says that there is no pod to connect with now, see [pod.NoReadyPodError].
	NoReadyPodError = pod.NoReadyPodError
)

// PortForwardTo returns a connector to the ports of the pods that an object selects, such as a Service, see
// [pod.PortForwardTo].
func PortForwardTo[K any](ctx context.Context, api *API[K], name string, o *PortForwardOptions) (*PortForwarder, error) {
	return pod.PortForwardTo(ctx, api, name, o)
}

// Files of containers.
type (
	// PodFiles is the files of a container, to be copied in and out, see [podfiles.Files].
	PodFiles = podfiles.Files
	// PodFilesOptions are the options of [PodFilesIn], see [podfiles.Options].
	PodFilesOptions = podfiles.Options
	// CopyProgress is how far a copy is, see [podfiles.Progress].
	CopyProgress = podfiles.Progress
	// CopyStats is how much was copied, see [podfiles.Stats].
	CopyStats = podfiles.Stats
	// CopyFileError is one file that could not be copied, see [podfiles.FileError].
	CopyFileError = podfiles.FileError
	// PartialCopyError says that some files were not copied, see [podfiles.PartialError].
	PartialCopyError = podfiles.PartialError
	// CopyLimitError says that a download is larger than it may be, see [podfiles.LimitError].
	CopyLimitError = podfiles.LimitError
)

// ErrNoTar says that a container has no program tar, see [podfiles.ErrNoTar].
var ErrNoTar = podfiles.ErrNoTar

// PodFilesIn returns the files of a container of a pod, see [podfiles.In].
func PodFilesIn(pods *PodAPI, name string, o *PodFilesOptions) *PodFiles {
	return podfiles.In(pods, name, o)
}
