// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/node"
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
