// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// Install installs the CustomResourceDefinition of Document and waits until the server serves the kind.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := kube.CRD[v1.Document]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, &kube.InstallOptions{FieldManager: Manager})
}
