// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/proxy"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// API has the verbs of the pods in one namespace.
type API struct {
	client    *client.Client
	namespace string
}

// In returns the verbs of the pods in a namespace. If the namespace is empty, each verb returns an error.
func In(c *client.Client, namespace string) *API {
	return &API{client: c, namespace: namespace}
}

// resource returns the resource of pods.
func resource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
}

// target returns the target of one pod.
func (a *API) target(name string) request.Target {
	return request.Target{Resource: resource(), Namespace: a.namespace, Name: name}
}

// objects returns the API of the pods as objects of k8s.io/api.
func (a *API) objects() *client.API[corev1.Pod] {
	return client.Namespaced[corev1.Pod](a.client, a.namespace)
}

// post sends a request and discards the body of the response.
func (a *API) post(ctx context.Context, r *request.Request, err error) error {
	if err != nil {
		return err
	}
	resp, err := a.client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// Reading a short body to its end keeps an HTTP/1.1 connection usable.
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	return nil
}

// Evict deletes a pod unless a PodDisruptionBudget forbids it. When Evict returns, the deletion has begun. It does not
// repeat an eviction that a budget forbids.
//
// The response does not contain the pod, so a controller does not wait until its cache has observed the eviction: its
// next run may read the pod without the deletion timestamp. A run that depends on it reads the pod with
// [client.API.Get], or deletes it with [client.API.Delete] if it has no budget to respect.
//
// Errors: [*BudgetError], which matches [core.ErrTooManyRequests]; [core.ErrNotFound]; [core.ErrConflict] when a
// precondition does not hold.
func (a *API) Evict(ctx context.Context, name string, o *request.EvictOptions) error {
	r, err := request.Evict(a.target(name), o)
	return client.WrapError("evict", a.target(name), budgetError(a.post(ctx, r, err)))
}

// Bind assigns a pod without a node to a node, as schedulers do.
//
// The response does not contain the pod, so a controller does not wait until its cache has observed the node: its next
// run may read the pod without it. A run that depends on it reads the pod with [client.API.Get].
//
// Errors: [core.ErrNotFound]; [core.ErrConflict] when the pod has a node.
func (a *API) Bind(ctx context.Context, name, node string, o *request.BindOptions) error {
	r, err := request.Bind(a.target(name), node, o)
	return client.WrapError("bind", a.target(name), a.post(ctx, r, err))
}

// Proxy sends a request to a port of a pod through the API server, and returns the response if it is a success; the
// caller closes its body. The API server removes the client's credentials, and adds the client's address in the header
// X-Forwarded-For. The request is sent once, because only the caller knows what a failure means. Use [API.PortForward]
// for anything but single requests.
//
// Errors: [*core.StatusError] for any other response, whether it comes from the pod or from the API server, with the
// Body unless it is a Status; [core.ErrUnavailable] when nothing listens on the port.
func (a *API) Proxy(ctx context.Context, name string, o *request.ProxyOptions) (*http.Response, error) {
	return proxy.Send(ctx, a.client, a.target(name), o)
}

// AddEphemeralContainer adds a container to a running pod, for example one with debugging tools, and returns the pod as
// stored; the container starts soon afterwards. It can't be removed while the pod exists.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] when the pod has a container of that name; a [*request.InvalidError]
// for a container without a name.
func (a *API) AddEphemeralContainer(
	ctx context.Context, name string, container *corev1.EphemeralContainer, o *request.PatchOptions,
) (*corev1.Pod, error) {
	if container == nil || container.Name == "" {
		err := &request.InvalidError{Field: "container.name", Detail: "is empty; name the container"}
		return nil, client.WrapError("patch", a.target(name), err)
	}
	patch := request.StrategicMergePatch(map[string]any{
		"spec": map[string]any{"ephemeralContainers": []any{container}},
	})
	return a.objects().Subresource("ephemeralcontainers").Patch(ctx, name, patch, o)
}

// Resize changes the CPU and memory of a container while it runs, and returns the pod as stored; the pod's status
// reports the progress. It reads the pod first, since the container may be a sidecar, which is an init container. So it
// needs the permissions to get pods and to patch pods/resize. Resources that are not set stay unchanged. Servers
// support it from Kubernetes 1.33 on.
//
// Errors: [core.ErrNotFound]; [core.ErrForbidden] without one of the permissions; [core.ErrInvalid]; a
// [*request.InvalidError] for a container without a name, and when no resource is set.
func (a *API) Resize(
	ctx context.Context, name, container string, resources *corev1.ResourceRequirements, o *request.PatchOptions,
) (*corev1.Pod, error) {
	wanted, err := fieldsOf(resources)
	switch {
	case err != nil:
	case container == "":
		err = &request.InvalidError{Field: "container", Detail: "is empty; name a container of the pod"}
	case len(wanted) == 0:
		err = &request.InvalidError{Field: "resources", Detail: "are empty; set requests or limits"}
	}
	if err != nil {
		return nil, client.WrapError("patch", a.target(name), err)
	}
	stored, err := a.objects().Get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	list := "containers"
	if slices.ContainsFunc(stored.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == container }) {
		list = "initContainers"
	}
	patch := request.StrategicMergePatch(map[string]any{"spec": map[string]any{
		list: []any{map[string]any{"name": container, "resources": wanted}},
	}})
	return a.objects().Subresource("resize").Patch(ctx, name, patch, o)
}

// fieldsOf returns the fields that are set.
func fieldsOf(resources *corev1.ResourceRequirements) (map[string]any, error) {
	var fields map[string]any
	data, err := wire.MarshalJSON(resources)
	if err == nil {
		err = wire.UnmarshalJSON(data, &fields)
	}
	if err != nil {
		return nil, &request.InvalidError{Field: "resources", Detail: err.Error()}
	}
	return fields, nil
}

// BudgetError reports that a PodDisruptionBudget does not allow an eviction now.
type BudgetError struct {
	Budget     string        // the name of the budget, in the pod's namespace; empty if the server does not name it
	Detail     string        // the requirement of the budget, in the server's words
	RetryAfter time.Duration // the delay that the server requests; zero if it requests none
	Err        error         // the server's response, which holds a [*core.StatusError]
}

// Error returns the name and the requirement of the budget.
func (e *BudgetError) Error() string {
	msg := strings.TrimSuffix(e.Detail, ".")
	if e.Budget != "" {
		msg = "disruption budget " + e.Budget + ": " + msg
	}
	if e.RetryAfter > 0 {
		msg += fmt.Sprintf("; try again in %v", e.RetryAfter)
	}
	return msg
}

// Unwrap returns the server's response.
func (e *BudgetError) Unwrap() error { return e.Err }

// budgetError recognizes the response to an eviction that a budget does not allow. Its cause is, for example, "The
// disruption budget web needs 2 healthy pods and has 2 currently".
func budgetError(err error) error {
	se, ok := errors.AsType[*core.StatusError](err) // inside a RetryError if the request was sent more than once
	if !ok || !errors.Is(se, core.ErrTooManyRequests) || se.Status.Details == nil {
		return err
	}
	for _, cause := range se.Status.Details.Causes {
		if cause.Type != metav1.CauseType("DisruptionBudget") {
			continue
		}
		e := &BudgetError{Detail: cause.Message, Err: err}
		if rest, ok := strings.CutPrefix(cause.Message, "The disruption budget "); ok {
			e.Budget, e.Detail, _ = strings.Cut(rest, " ")
		}
		e.RetryAfter, _ = core.RetryAfter(se)
		return e
	}
	return err
}
