// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/kube-go/sdk/core/machine"

// BucketClaimSpec is the bucket that a user needs.
//
//kube:resource group=storage.example.com version=v1 kind=BucketClaim
//kube:description A BucketClaim requests a bucket. Users create it in their namespace.
//kube:subresource status
//kube:printcolumn name=Bucket jsonPath=.status.bucket
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
type BucketClaimSpec struct {
	// Gigabytes is the size of the bucket.
	// +kubebuilder:validation:Minimum=1
	Gigabytes int32 `json:"gigabytes"`
}

// BucketClaimStatus is the state of a claim.
type BucketClaimStatus struct {
	machine.Status `json:",inline"`

	// Bucket is the name of the bucket. It is empty before the bucket has been ready.
	// +optional
	Bucket string `json:"bucket,omitempty"`
}

// BucketSpec is a bucket and the claim that uses it.
//
//kube:resource group=storage.example.com version=v1 kind=Bucket scope=Cluster
//kube:description A Bucket is a bucket of the cluster. Controllers create it for a claim.
//kube:subresource status
//kube:printcolumn name=Namespace jsonPath=.spec.claimNamespace
//kube:printcolumn name=Claim jsonPath=.spec.claimName
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
type BucketSpec struct {
	// ClaimNamespace is the namespace of the claim.
	ClaimNamespace string `json:"claimNamespace"`

	// ClaimName is the name of the claim.
	ClaimName string `json:"claimName"`

	// Gigabytes is the size.
	Gigabytes int32 `json:"gigabytes"`
}

// BucketStatus is the state of a bucket.
type BucketStatus struct {
	machine.Status `json:",inline"`

	// Gigabytes is the size that the bucket has.
	// +optional
	Gigabytes int32 `json:"gigabytes,omitempty"`
}
