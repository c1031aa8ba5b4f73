// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/machine"
)

// WasmControllerSpec is the module that a user wants to run, and what it may use.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.file)",message="set either image or file"
//
//kube:resource group=wasm.kube-go.dev version=v1alpha1 kind=WasmController shortName=wasmctl
//kube:description A WasmController is a controller that runs as a WebAssembly module in a host that many modules share.
//kube:subresource status
//kube:printcolumn name=State jsonPath=.status.fsm.state
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Failures jsonPath=.status.failures type=integer
//kube:printcolumn name=Digest jsonPath=.status.digest priority=1
//kube:printcolumn name=Error jsonPath=.status.lastError priority=1
//kube:printcolumn name=Age jsonPath=.metadata.creationTimestamp type=date
type WasmControllerSpec struct {
	// Image is the module as an artifact in an OCI registry, by the digest of its manifest, such as
	// ghcr.io/example/hello@sha256:0123… Tags are not allowed, because they change.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^@\s]+/[^@\s]+@sha256:[0-9a-f]{64}$`
	Image string `json:"image,omitempty"`

	// File is the module as a file, by its path in the directory that the host reads modules from. The module is replaced
	// when the file changes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file,omitempty"`

	// Args are the arguments of the program.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// Env are the environment variables of the program. An actor in Go has them from the beginning of main: the
	// initialization of its packages does not see them, and of those that the runtime of Go reads when a program starts,
	// only GOMEMLIMIT and GOGC have an effect.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	Env []EnvVar `json:"env,omitempty"`

	// ServiceAccountName is the service account, in the namespace of this object, as which the module sends its requests.
	// It decides what the module may read and write.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Origins are the servers, apart from the API server, that the module may send requests to, such as
	// https://hooks.example.com or http://10.0.0.1:8080. The host must allow each
	// of them: see the flag -allow-origin of kube-wasm.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^https?://[^/?#@\s]+$`
	// +listType=set
	Origins []string `json:"origins,omitempty"`

	// Limits bound what the module may use.
	// +optional
	Limits Limits `json:"limits,omitzero"`

	// Suspend stops the module.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	// Name is the name of the variable.
	// +kubebuilder:validation:Pattern=`^[^=\x00]+$`
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`

	// Value is the value of the variable. All users who may read this object may read it, so it must not be a secret:
	// a module reads secrets with its service account.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// Limits bound what a module may use. The patterns accept only values that can be decoded: the operator could not
// report the state of an object with another value, or remove its finalizer.
type Limits struct {
	// Memory is the maximum size of the module's memory, at most 4Gi. Default: 256Mi.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE])?$`
	Memory *resource.Quantity `json:"memory,omitempty"`

	// CacheMemory is the maximum memory of the host for the objects that the module watches, at most 4Gi. All objects of a
	// watch count, also if other modules watch them. A watch that exceeds the limit ends with an error. Default: 256Mi.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE])?$`
	CacheMemory *resource.Quantity `json:"cacheMemory,omitempty"`

	// CallTimeout is the time for which one call of the module may run, at most 5m. Default: 10s.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,9})?([nuµμm]?s|m|h))+$`
	CallTimeout *metav1.Duration `json:"callTimeout,omitempty"`

	// CPU is the number of CPUs that the module may use over time, such as 250m, at most 8. A module that was idle for a
	// minute may use the CPU time of that minute at once. Default: 500m.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE])?$`
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// InFlight is the maximum number of operations of the module that have not ended. Default: 16384.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	InFlight int32 `json:"inFlight,omitempty"`

	// Watches is the maximum number of watches of the module that have not ended. Default: 128.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Watches int32 `json:"watches,omitempty"`

	// RequestsPerSecond is the maximum number of requests per second, after a burst of twice as many. Requests that the
	// host sends for the module count, except for repeated checks of its permissions. Default: 50.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	RequestsPerSecond int32 `json:"requestsPerSecond,omitempty"`

	// LogsPerSecond is the maximum number of log records per second. Default: 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	LogsPerSecond int32 `json:"logsPerSecond,omitempty"`
}

// WasmControllerStatus is what the host does with the module. The state, status.fsm.state, is one of:
//
//   - Pulling: the module is read from the registry or the file.
//   - Compiling: the host compiles the module.
//   - Starting: the program of the module starts.
//   - Running: the module runs.
//   - BackOff: the module has failed, and starts again after a delay.
//   - Quarantined: the module can't run, and waits until it changes.
//   - Stopped: spec.suspend is true.
//   - Terminating: the object is deleted, and the module ends.
type WasmControllerStatus struct {
	machine.Status `json:",inline"`

	// Digest is the digest of the module that runs, or was the last to run. It is not that of the image's manifest.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Failures is the number of failures of the module in succession.
	// +optional
	Failures int32 `json:"failures,omitempty"`

	// LastError is the last failure of the module.
	// +optional
	LastError string `json:"lastError,omitempty"`

	// Stats are the counters of the module since it was set, when it last began to start, to run, to back off or to be
	// quarantined, or its digest or its failures last changed. The metrics of the host have the current ones.
	// +optional
	Stats *Stats `json:"stats,omitempty"`
}

// Stats count what a module has done.
type Stats struct {
	// Starts is the number of instances that have started.
	// +optional
	Starts int64 `json:"starts,omitempty"`

	// Calls is the number of calls of the module by the host.
	// +optional
	Calls int64 `json:"calls,omitempty"`

	// Requests is the number of requests of the module, and of the host for it.
	// +optional
	Requests int64 `json:"requests,omitempty"`

	// DroppedLogs is the number of log records over the limit.
	// +optional
	DroppedLogs int64 `json:"droppedLogs,omitempty"`

	// MemoryBytes is the size of the memory of the module.
	// +optional
	MemoryBytes int64 `json:"memoryBytes,omitempty"`

	// CacheBytes is the memory of the host for the objects that the module watches, as if no other module watched them.
	// +optional
	CacheBytes int64 `json:"cacheBytes,omitempty"`
}
