// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
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
	api := nodeAPI{client: client, url: server + "/api/v1/nodes/" + url.PathEscape(n.in.Name)}
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
	if err := api.do(ctx, http.MethodGet, "", nil, &node); err != nil {
		return err
	}
	if len(node.Status.Addresses) == 0 || node.Status.Addresses[0].Type != "InternalIP" {
		addresses := []address{{"InternalIP", "127.0.0.1"}, {"Hostname", n.in.Name}}
		patch := map[string]any{"status": map[string]any{"addresses": addresses}}
		return errors.Join(errors.New("it had no address"), api.do(ctx, http.MethodPatch, "/status", patch, nil))
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
		return errors.Join(errors.New("it was not initialized"), api.do(ctx, http.MethodPatch, "", patch, nil))
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

// nodeAPI is the API server's resource of one node.
type nodeAPI struct {
	client *http.Client
	url    string
}

// do sends the body, if any, as a JSON merge patch, and decodes the response into result, if any.
func (a nodeAPI) do(ctx context.Context, method, subresource string, body, result any) error {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+subresource, bytes.NewReader(content))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	req.Header.Set("User-Agent", "kubecluster") // the field manager
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s%s: %s: %.200s", method, a.url, subresource, resp.Status, answer)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}
