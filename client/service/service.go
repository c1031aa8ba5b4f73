// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"net/http"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/proxy"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// API provides the verbs of the services in one namespace.
type API struct {
	client    *client.Client
	namespace string
}

// In returns the verbs of the services in a namespace. If the namespace is empty, each verb returns an error.
func In(c *client.Client, namespace string) *API { return &API{client: c, namespace: namespace} }

// Proxy sends a request to a port of a service through the API server, and returns the response if it is a success; the
// caller closes its body. The API server removes the client's credentials, and adds the client's address in the header
// X-Forwarded-For. The request is sent once, because only the caller knows what a failure means.
//
// Errors: [*core.StatusError] for any other response, whether it comes from the service or from the API server, with
// the Body unless it is a Status; [core.ErrUnavailable] if the service has no ready pod.
func (a *API) Proxy(ctx context.Context, name string, o *request.ProxyOptions) (*http.Response, error) {
	res := core.Resource{Version: "v1", Kind: "Service", Plural: "services", Namespaced: true}
	t := request.Target{Resource: res, Namespace: a.namespace, Name: name}
	return proxy.Send(ctx, a.client, t, o)
}
