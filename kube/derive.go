// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive"
)

// CRD returns the CustomResourceDefinition of a kind that kube-derive generated, see [derive.CRD].
func CRD[K any, P core.ObjectPtr[K]]() (*unstructured.Unstructured, error) { return derive.CRD[K, P]() }

// CRDResource returns what CustomResourceDefinitions themselves are called on the wire, see [derive.CRDResource].
func CRDResource() Resource { return derive.CRDResource() }
