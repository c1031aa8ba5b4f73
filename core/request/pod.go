// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/wire"
)

// EvictOptions are the options of an eviction.
type EvictOptions struct {
	// GracePeriod is the time to terminate, in whole seconds. Default: that of the pod.
	GracePeriod *time.Duration

	// Propagation is how the eviction affects the objects that the pod owns. Default: that of pods,
	// [metav1.DeletePropagationBackground].
	Propagation metav1.DeletionPropagation

	// UID and ResourceVersion make the eviction fail with a conflict if the pod has other ones.
	UID             types.UID
	ResourceVersion string

	DryRun bool // run the request without storing the result
}

// eviction is Eviction of policy/v1.
type eviction struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        reference             `json:"metadata"`
	DeleteOptions   *metav1.DeleteOptions `json:"deleteOptions,omitempty"`
}

// reference is the metadata of a body that refers to another object, with the preconditions of that object.
type reference struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// Evict builds the request that deletes a pod unless a disruption budget needs it, see
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/.
func Evict(t Target, o *EvictOptions) (*Request, error) {
	t.Subresource = "eviction"
	body := eviction{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		Metadata: reference{Name: t.Name, Namespace: t.Namespace},
	}
	q := url.Values{}
	if o != nil {
		del := &DeleteOptions{
			GracePeriod: o.GracePeriod, Propagation: o.Propagation,
			UID: o.UID, ResourceVersion: o.ResourceVersion, DryRun: o.DryRun,
		}
		options, err := del.body("EvictOptions.")
		if err != nil {
			return nil, err
		}
		body.DeleteOptions = options
		if o.DryRun { // the server requires both
			q.Set("dryRun", metav1.DryRunAll)
		}
	}
	return post(t, q, body)
}

// BindOptions are the options of binding a pod to a node.
type BindOptions struct {
	// UID and ResourceVersion make the binding fail with a conflict if the pod has other ones.
	UID             types.UID
	ResourceVersion string

	// Annotations are added to those of the pod.
	Annotations map[string]string

	DryRun       bool   // run the request without storing the result
	FieldManager string // the owner of the fields; default: the target's, or derived from the user agent
}

// binding is Binding of v1.
type binding struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        reference `json:"metadata"`
	Target          struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
	} `json:"target"`
}

// Bind builds the request that assigns a pod to a node, as schedulers do.
func Bind(t Target, node string, o *BindOptions) (*Request, error) {
	if node == "" {
		return nil, invalid("node", "is empty; name the node")
	}
	if o == nil {
		o = &BindOptions{}
	}
	t.Subresource = "binding"
	body := binding{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		Metadata: reference{t.Name, t.Namespace, o.UID, o.ResourceVersion, o.Annotations},
	}
	body.Target.APIVersion, body.Target.Kind, body.Target.Name = "v1", "Node", node
	q := url.Values{}
	if err := encodeWrite(q, "BindOptions.", o.DryRun, cmp.Or(o.FieldManager, t.FieldManager), ""); err != nil {
		return nil, err
	}
	return post(t, q, body)
}

// post builds a create on a subresource whose body is not of the target's kind.
func post(t Target, q url.Values, body any) (*Request, error) {
	t.Encoding, t.View = wire.JSON, ViewObject
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	data, err := wire.MarshalJSON(body)
	if err != nil {
		return nil, err
	}
	return &Request{
		Verb: "create", Method: "POST", Path: path, Query: q,
		Accept: t.accept(), ContentType: wire.MediaTypeJSON, Body: data, Target: t,
	}, nil
}

// LogStream selects the output of a container. Kubernetes has [LogStdout] and [LogStderr] behind the feature gate
// PodLogsQuerySplitStreams. Servers without it refuse them; servers before Kubernetes 1.32 ignore them and send both
// outputs.
type LogStream string

// The streams of a log, see
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod.
const (
	LogAll    LogStream = "All"
	LogStdout LogStream = "Stdout"
	LogStderr LogStream = "Stderr"
)

// LogOptions are the options of reading a container's log. The zero value of a field is its default.
type LogOptions struct {
	Container string // default: the only container

	Follow   bool // continue with new output until the container ends
	Previous bool // the log of the container's previous run

	// Since and SinceTime omit older lines: older than a duration, in whole seconds, or than a time, without its
	// fraction of a second. At most one may be set.
	Since     time.Duration
	SinceTime time.Time

	TailLines  *int64 // the number of lines at the end; requires Stream LogAll. Default: all lines
	LimitBytes int64  // at most; 0 means no limit
	Timestamps bool   // start each line with its time

	Stream LogStream // which output; default: LogAll. The others need a feature gate, see [LogStream]

	// InsecureSkipTLSVerifyBackend makes the API server skip the check of the kubelet's certificate.
	InsecureSkipTLSVerifyBackend bool
}

// Log builds the request for a container's log. The response is plain text.
func Log(t Target, o *LogOptions) (*Request, error) {
	t.Subresource = "log"
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	q := url.Values{}
	if o != nil {
		if err := o.check(); err != nil {
			return nil, err
		}
		o.encode(q)
	}
	return &Request{Verb: "get", Method: "GET", Path: path, Query: q, Accept: "text/plain,*/*", Target: t}, nil
}

func (o *LogOptions) check() error {
	const field = "LogOptions."
	switch {
	case o.Since < 0 || o.Since%time.Second != 0:
		return invalid(field+"Since", "%v is not a positive number of whole seconds", o.Since)
	case o.Since != 0 && !o.SinceTime.IsZero():
		return invalid(field+"Since", "and SinceTime are both set; set one of them")
	case o.TailLines != nil && *o.TailLines < 0:
		return invalid(field+"TailLines", "%d is negative", *o.TailLines)
	case o.LimitBytes < 0:
		return invalid(field+"LimitBytes", "%d is negative; 0 means no limit", o.LimitBytes)
	case o.Stream != "" && o.Stream != LogAll && o.Stream != LogStdout && o.Stream != LogStderr:
		return invalid(field+"Stream", "%q is not valid; use All, Stdout or Stderr", o.Stream)
	case o.TailLines != nil && o.Stream != "" && o.Stream != LogAll:
		return invalid(field+"TailLines", "requires Stream All: the server counts the lines of both streams")
	}
	return nil
}

func (o *LogOptions) encode(q url.Values) {
	set(q, "container", o.Container)
	if o.Stream != LogAll { // the default, which servers without the feature gate refuse
		set(q, "stream", string(o.Stream))
	}
	flag(q, "follow", o.Follow)
	flag(q, "previous", o.Previous)
	flag(q, "timestamps", o.Timestamps)
	flag(q, "insecureSkipTLSVerifyBackend", o.InsecureSkipTLSVerifyBackend)
	if o.Since > 0 {
		q.Set("sinceSeconds", seconds(o.Since))
	}
	if !o.SinceTime.IsZero() {
		q.Set("sinceTime", o.SinceTime.UTC().Format(time.RFC3339))
	}
	if o.TailLines != nil {
		q.Set("tailLines", strconv.FormatInt(*o.TailLines, 10))
	}
	if o.LimitBytes > 0 {
		q.Set("limitBytes", strconv.FormatInt(o.LimitBytes, 10))
	}
}

func flag(q url.Values, key string, on bool) {
	if on {
		q.Set(key, "true")
	}
}

// ExecOptions are the options of running a command in a container.
type ExecOptions struct {
	Command   []string // the program with its arguments; required
	Container string   // default: the only container

	Stdin, Stdout, Stderr bool // the streams to open; at least one
	TTY                   bool // give the process a terminal, which has no Stderr
}

// Exec builds the request that runs a command in a container. The caller upgrades it to a WebSocket.
func Exec(t Target, o *ExecOptions) (*Request, error) {
	t.Subresource = "exec"
	if o == nil || len(o.Command) == 0 {
		return nil, invalid("ExecOptions.Command", "is empty; name the program to run")
	}
	q := url.Values{"command": slices.Clone(o.Command)}
	return stream(t, "ExecOptions.", q, AttachOptions{o.Container, o.Stdin, o.Stdout, o.Stderr, o.TTY})
}

// AttachOptions are the options of attaching to the process that a container runs.
type AttachOptions struct {
	Container string // default: the only container

	Stdin, Stdout, Stderr bool // the streams to open; at least one
	TTY                   bool // the container has a terminal, which has no Stderr
}

// Attach builds the request that attaches to a container's process. The caller upgrades it to a WebSocket.
func Attach(t Target, o *AttachOptions) (*Request, error) {
	t.Subresource = "attach"
	if o == nil {
		o = &AttachOptions{}
	}
	return stream(t, "AttachOptions.", url.Values{}, *o)
}

// stream builds a request for an upgrade. Its verb is create, because it must not be sent twice, although the method is
// GET. Servers check the permissions to get and, since Kubernetes 1.35, to create.
func stream(t Target, field string, q url.Values, o AttachOptions) (*Request, error) {
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	switch {
	case !o.Stdin && !o.Stdout && !o.Stderr:
		return nil, invalid(field+"Stdout", "is not set, and neither are Stdin and Stderr; set at least one of them")
	case o.TTY && o.Stderr:
		return nil, invalid(field+"Stderr", "can't be combined with TTY: a terminal has one output, which is Stdout")
	}
	set(q, "container", o.Container)
	for key, on := range map[string]bool{"stdin": o.Stdin, "stdout": o.Stdout, "stderr": o.Stderr, "tty": o.TTY} {
		flag(q, key, on)
	}
	return &Request{Verb: "create", Method: "GET", Path: path, Query: q, Target: t}, nil
}

// PortForwardOptions are the options of forwarding ports of a pod.
type PortForwardOptions struct {
	Ports []int32 // of the pod; 1 to 128 of them
}

const mostPorts = 128

// PortForward builds the request that connects to ports of a pod. The caller upgrades it to a WebSocket, in which each
// port has a channel for data and one for errors.
func PortForward(t Target, o *PortForwardOptions) (*Request, error) {
	t.Subresource = "portforward"
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	if o == nil || len(o.Ports) == 0 || len(o.Ports) > mostPorts {
		return nil, invalid("PortForwardOptions.Ports", "must be 1 to %d ports", mostPorts)
	}
	q := url.Values{}
	for i, port := range o.Ports {
		if port < 1 || port > 65535 {
			return nil, invalid("PortForwardOptions.Ports", "%d is not a valid port; use 1 to 65535", port)
		}
		if slices.Contains(o.Ports[:i], port) {
			return nil, invalid("PortForwardOptions.Ports", "%d is a duplicate; remove one", port)
		}
		q.Add("ports", strconv.FormatInt(int64(port), 10))
	}
	return &Request{Verb: "create", Method: "GET", Path: path, Query: q, Target: t}, nil
}
