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

// exampleDocs returns an API of documents, with a server that runs in the process.
func exampleDocs(s *server) *client.API[document] {
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: s,
	})
	if err != nil {
		panic(err)
	}
	return client.ClusterWide[document](c)
}

func ExampleReconcile() {
	s := &server{stored: doc()} // stands in for a cluster
	docs := exampleDocs(s)

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

func ExampleAdd() {
	s := &server{stored: doc("example.com/other")} // stands in for a cluster
	docs := exampleDocs(s)

	d, err := finalizer.Add(context.Background(), docs, "docs.example.com/cleanup", doc("example.com/other"))
	fmt.Println(d.Finalizers, err)

	s.stored = deleted(s.stored.Finalizers...)
	d, err = finalizer.Add(context.Background(), docs, "docs.example.com/more", s.stored)
	fmt.Println("a deleted object:", d, err)

	// Output:
	// [example.com/other docs.example.com/cleanup] <nil>
	// a deleted object: <nil> <nil>
}

func ExampleRemove() {
	s := &server{stored: deleted("example.com/other", "docs.example.com/cleanup")} // stands in for a cluster
	docs := exampleDocs(s)

	err := finalizer.Remove(context.Background(), docs, "docs.example.com/cleanup", s.stored)
	fmt.Println(s.stored.Finalizers, err)

	// Output:
	// [example.com/other] <nil>
}
