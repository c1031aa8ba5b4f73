// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/rest"
)

// object is the part of a Node that this package uses.
type object struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		Taints []taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Addresses  []address   `json:"addresses"`
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type taint struct {
	Key       string `json:"key"`
	Value     string `json:"value,omitempty"`
	Effect    string `json:"effect"`
	TimeAdded string `json:"timeAdded,omitempty"`
}

type address struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// uninitialized is the taint of a node that waits for its cloud provider.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// AfterReady does the work of a cloud provider for the node, which is reached at 127.0.0.1, and waits until it is ready
// for pods. The client must have permission to change nodes at the API server's URL.
func (n *Node) AfterReady(ctx context.Context, client *http.Client, server string) error {
	api := nodeAPI{client: client, url: nodeURL(server, n.in.Name)}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := n.initialize(ctx, api)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // the error of a timeout is less useful than the previous one
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s is not ready: %w; %w", n.in.Name, last, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// initialize performs the next step for the node. It returns an error until no steps remain.
func (n *Node) initialize(ctx context.Context, api nodeAPI) error {
	var node object
	if err := rest.Do(ctx, api.client, http.MethodGet, api.url, nil, &node); err != nil {
		return err
	}
	if len(node.Status.Addresses) == 0 || node.Status.Addresses[0].Type != "InternalIP" {
		addresses := []address{{"InternalIP", "127.0.0.1"}, {"Hostname", n.in.Name}}
		patch := map[string]any{"status": map[string]any{"addresses": addresses}}
		return errors.Join(errors.New("it had no address"), api.patch(ctx, "/status", patch))
	}
	return n.open(ctx, api, node)
}

// open removes the cloud provider's taint. The cluster removes the other taints.
func (n *Node) open(ctx context.Context, api nodeAPI, node object) error {
	kept := []taint{}
	for _, taint := range node.Spec.Taints {
		if taint.Key != uninitialized {
			kept = append(kept, taint)
		}
	}
	if len(kept) < len(node.Spec.Taints) {
		patch := map[string]any{
			"metadata": map[string]any{"resourceVersion": node.Metadata.ResourceVersion},
			"spec":     map[string]any{"taints": kept},
		}
		return errors.Join(errors.New("it was not initialized"), api.patch(ctx, "", patch))
	}
	if err := node.ready(); err != nil {
		return err
	}
	if len(kept) > 0 {
		return fmt.Errorf("it has the taint %s", kept[0].Key)
	}
	return nil
}

// ready returns the kubelet's reason why the node is not ready.
func (o object) ready() error {
	for _, condition := range o.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status != "True" {
			return errors.New(condition.Message)
		}
		return nil
	}
	return errors.New("its kubelet has not reported yet")
}

// Ready returns the reason why the node with a name is not ready, or nil. The client must have permission to read nodes
// at the API server's URL.
func Ready(ctx context.Context, client *http.Client, server, name string) error {
	var node object
	if err := rest.Do(ctx, client, http.MethodGet, nodeURL(server, name), nil, &node); err != nil {
		return err
	}
	return node.ready()
}

// nodeAPI is the API server's resource of one node.
type nodeAPI struct {
	client *http.Client
	url    string
}

func nodeURL(server, name string) string { return server + "/api/v1/nodes/" + url.PathEscape(name) }

func (a nodeAPI) patch(ctx context.Context, subresource string, patch any) error {
	return rest.Do(ctx, a.client, http.MethodPatch, a.url+subresource, patch, nil)
}
