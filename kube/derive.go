// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/install"
)

type (
	// InstallOptions are the options of [InstallCRDs], see [install.Options].
	InstallOptions = install.Options
	// DowngradeError says that a definition has less than the one that is installed, see [install.DowngradeError].
	DowngradeError = install.DowngradeError
)

// InstallCRDs applies CustomResourceDefinitions and waits until their kinds can be used, see [install.CRDs].
func InstallCRDs(ctx context.Context, c *Client, crds []*unstructured.Unstructured, o *InstallOptions) error {
	return install.CRDs(ctx, c, crds, o)
}

// CRD returns the CustomResourceDefinition of a kind that kube-derive generated, see [core.CRD]. Package derive has one of
// the same name that makes definitions of other structs too.
func CRD[K any, P core.ObjectPtr[K]]() (*unstructured.Unstructured, error) { return core.CRD[K, P]() }

// CRDResource returns what CustomResourceDefinitions themselves are called on the wire, see [core.CRDResource].
func CRDResource() Resource { return core.CRDResource() }
