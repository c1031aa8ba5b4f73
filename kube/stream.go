// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/core/request"
)

// Processes in containers.
type (
	// ExecOptions are the options of running a command in a container, see [client.ExecOptions].
	ExecOptions = client.ExecOptions
	// AttachOptions are the options of connecting with the process of a container, see [client.AttachOptions].
	AttachOptions = client.AttachOptions
	// Process is a process in a container with its streams, see [client.Process].
	Process = client.Process
	// ExitError is a process that ended with another exit status than 0, see [client.ExitError].
	ExitError = client.ExitError
)

// What may go wrong with a stream, for errors.Is.
var (
	ErrStalled     = client.ErrStalled
	ErrNoHalfClose = client.ErrNoHalfClose
)

// Logs of containers.
type (
	// LogOptions are the options of reading a log, see [request.LogOptions].
	LogOptions = request.LogOptions
	// LogStream is which output of a container a log is of, see [request.LogStream].
	LogStream = request.LogStream
	// LogLine is one line of a log, see [client.LogLine].
	LogLine = client.LogLine
	// AllLogsOptions are the options of reading the logs of many pods, see [client.AllLogsOptions].
	AllLogsOptions = client.AllLogsOptions
)

// The outputs that a log may be of.
const (
	LogAll    = request.LogAll
	LogStdout = request.LogStdout
	LogStderr = request.LogStderr
)

// Connections to ports of pods.
type (
	// PortForwardOptions are the options of forwarding ports, see [client.PortForwardOptions].
	PortForwardOptions = client.PortForwardOptions
	// PortForwarder makes connections to ports of pods, see [client.PortForwarder].
	PortForwarder = client.PortForwarder
	// ListenOptions are the options of a local port, see [client.ListenOptions].
	ListenOptions = client.ListenOptions
	// PortListener is a local port whose connections lead to a pod, see [client.PortListener].
	PortListener = client.PortListener
	// NoReadyPodError says that there is no pod to connect with now, see [client.NoReadyPodError].
	NoReadyPodError = client.NoReadyPodError
)

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
func PodFilesIn[K any](pods *API[K], pod string, o *PodFilesOptions) *PodFiles {
	return podfiles.In(pods, pod, o)
}
