// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/proxy"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// API provides the verbs of nodes.
type API struct {
	client *client.Client
}

// New returns the verbs of nodes.
func New(c *client.Client) *API { return &API{client: c} }

// Cordon marks a node so that the scheduler assigns no new pods to it, and returns the node as stored. Running pods
// continue to run.
//
// Errors: [core.ErrNotFound].
func (a *API) Cordon(ctx context.Context, name string, o *request.PatchOptions) (*corev1.Node, error) {
	return a.setUnschedulable(ctx, name, true, o)
}

// Uncordon allows the scheduler to assign new pods to a node again, and returns the node as stored.
//
// Errors: [core.ErrNotFound].
func (a *API) Uncordon(ctx context.Context, name string, o *request.PatchOptions) (*corev1.Node, error) {
	return a.setUnschedulable(ctx, name, nil, o)
}

// setUnschedulable sets spec.unschedulable, or removes it if mark is nil.
func (a *API) setUnschedulable(
	ctx context.Context, name string, mark any, o *request.PatchOptions,
) (*corev1.Node, error) {
	patch := request.MergePatch(map[string]any{"spec": map[string]any{"unschedulable": mark}})
	return client.ClusterWide[corev1.Node](a.client).Patch(ctx, name, patch, o)
}

// Proxy sends a request to a node's kubelet, or to a port of the node, through the API server, and returns the response
// if it is a success; the caller closes its body. The request is sent once, because only the caller knows what a
// failure means.
//
// Errors: [*core.StatusError] for any other response, with the Body unless it is a Status; [core.ErrUnavailable] if
// nothing listens on the port.
func (a *API) Proxy(ctx context.Context, name string, o *request.ProxyOptions) (*http.Response, error) {
	t := request.Target{Resource: core.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}, Name: name}
	return proxy.Send(ctx, a.client, t, o)
}
