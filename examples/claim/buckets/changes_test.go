// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package buckets_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/claim/api/v1"
	"github.com/kube-go/sdk/examples/claim/buckets"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

func TestBucketsFollowTheirClaims(t *testing.T) {
	kubetest.ExploreChanges(t, func(*testing.T) *kubetest.Scenario {
		claim := &v1.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "images"}, Spec: v1.BucketClaimSpec{Gigabytes: 1},
		}
		return &kubetest.Scenario{
			Options: &kubetest.Options{
				Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.BucketClaim], kube.CRD[v1.Bucket]},
				Objects:     []kube.Object{claim},
			},
			Program: buckets.Run,
			Normalize: func(obj *unstructured.Unstructured) { // there are more transitions
				unstructured.RemoveNestedField(obj.Object, "status", "fsm", "history")
			},
		}
	})
}
