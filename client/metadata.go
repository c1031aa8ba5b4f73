// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Metadata returns the same API for the metadata of objects: the server sends nothing else, for any kind. What it reads
// says of which kind the objects are. It also patches, applies and deletes; a Create or Update would write objects that
// have nothing but metadata, and is refused.
func (a *API[K]) Metadata() *API[metav1.PartialObjectMetadata] {
	m := &API[metav1.PartialObjectMetadata]{
		client: a.client, target: a.target, oneSpace: a.oneSpace, setup: a.setup, onItemError: a.onItemError,
	}
	m.target.View, m.target.Encoding = request.ViewMetadata, wire.Protobuf
	return m
}
