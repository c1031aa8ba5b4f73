// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"io"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/core/request"
)

func ExampleAPI_Cordon() {
	nodes := node.New(testserver.Answering(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`))
	_, err := nodes.Cordon(context.Background(), "n1", nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}
	// <nil>
}

func ExampleAPI_Uncordon() {
	nodes := node.New(testserver.Answering(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`))
	_, err := nodes.Uncordon(context.Background(), "n1", nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":null}}
	// <nil>
}

func ExampleAPI_Proxy() {
	nodes := node.New(testserver.Answering("ok"))
	resp, err := nodes.Proxy(context.Background(), "n1", &request.ProxyOptions{Path: "healthz"}) // of the kubelet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output:
	// GET /api/v1/nodes/n1/proxy/healthz
	// ok <nil>
}
