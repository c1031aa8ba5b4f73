// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/sharding"
)

func ExampleNew() {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
	})
	if err != nil {
		log.Fatal(err)
	}
	member := sharding.New(c, &sharding.Options{Name: "shop", Identity: "a"})
	fmt.Println(member.Status().Joined, member.Status().Slots)
	// Output: false 0
}
