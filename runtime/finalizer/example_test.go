// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer_test

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/finalizer"
)

func ExampleReconcile() {
	s := &server{stored: doc()} // stands in for a cluster
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: s,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	docs := client.ClusterWide[document](c)

	reconcile := func(ctx context.Context, doc *document) (controller.Action, error) {
		return finalizer.Reconcile(ctx, docs, "docs.example.com/cleanup", doc, finalizer.Funcs[document]{
			Apply: func(_ context.Context, doc *document) (controller.Action, error) {
				fmt.Println("create the bucket of", doc.Name)
				return controller.AwaitChange(), nil
			},
			Cleanup: func(_ context.Context, doc *document) (controller.Action, error) {
				fmt.Println("delete the bucket of", doc.Name)
				return controller.AwaitChange(), nil
			},
		})
	}

	if _, err := reconcile(context.Background(), doc()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("finalizers:", s.stored.Finalizers)

	s.stored = deleted(s.stored.Finalizers...)
	if _, err := reconcile(context.Background(), deleted(s.stored.Finalizers...)); err != nil {
		fmt.Println(err)
	}
	fmt.Println("gone:", s.stored == nil)

	// Output:
	// create the bucket of a
	// finalizers: [docs.example.com/cleanup]
	// delete the bucket of a
	// gone: true
}
