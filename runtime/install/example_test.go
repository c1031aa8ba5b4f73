// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/install"
)

func ExampleCRDs() {
	ctx := context.Background()
	c, err := client.New(ctx, &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: &server{}, // stands in for a cluster
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a program: core.CRD[v1.Document]()
	document := crd("", "title", "body")
	fmt.Println(install.CRDs(ctx, c, []*unstructured.Unstructured{document}, nil))

	// An older version of the program starts, whose documents have no body.
	older := crd("", "title")
	err = install.CRDs(ctx, c, []*unstructured.Unstructured{older}, nil)
	if downgrade, ok := errors.AsType[*install.DowngradeError](err); ok {
		fmt.Println(downgrade.Losses)
	}
	// Output:
	// <nil>
	// [version v1: field .body]
}
