// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/election"
)

func ExampleNew() {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
	})
	if err != nil {
		log.Fatal(err)
	}
	e := election.New(c, &election.Options{Name: "document-controller", Identity: "a"})
	fmt.Printf("%+v\n", e.Status())
	// Output: {Lease:prod/document-controller Identity:a Leading:false Leader: Transitions:0 Reached:false Err:<nil>}
}
