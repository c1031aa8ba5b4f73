// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// Scale returns the scale subresource, which tells and sets the number of replicas of any kind that has one. Kinds that
// are known to have none are refused without asking the server.
//
//	_, err := deployments.Scale().Modify(ctx, "web", func(s *core.Scale) error {
//		s.Spec.Replicas = 3
//		return nil
//	}, nil)
func (a *API[K]) Scale() *Subresource[core.Scale] {
	return SubresourceOf[core.Scale](a, "scale", schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
}
