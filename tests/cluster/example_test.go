// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kube-go/sdk/tests/cluster"
)

func Example() {
	ctx := context.Background()
	c, err := cluster.Start(ctx, &cluster.Options{Log: os.Stderr})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("export KUBECONFIG=" + c.Kubeconfig())

	// How does a client react to a restart of the API server?
	if err := c.Component(cluster.APIServer).Restart(ctx); err != nil {
		log.Print(err)
	}
	if err := c.Stop(); err != nil {
		log.Fatal(err)
	}
}
