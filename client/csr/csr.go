// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"cmp"
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
)

// Options are the options of [API.Approve] and [API.Deny].
type Options struct {
	Reason  string // one word in CamelCase. Default: "Approved" or "Denied"
	Message string // human-readable. Default: none
	DryRun  bool   // the server validates the change but does not store it. Default: false
}

// API provides the verbs of certificate signing requests.
type API struct {
	client *client.Client
}

// New returns the verbs of certificate signing requests.
func New(c *client.Client) *API { return &API{client: c} }

// Approve approves a request, so that its signer issues the certificate, and returns the request as stored. A request
// that is already approved is left unchanged.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] if the request was denied before.
func (a *API) Approve(ctx context.Context, name string, o *Options) (*certificatesv1.CertificateSigningRequest, error) {
	return a.decide(ctx, name, certificatesv1.CertificateApproved, o)
}

// Deny denies a request permanently, and returns the request as stored. A request that is already denied is left
// unchanged.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] if the request was approved before.
func (a *API) Deny(ctx context.Context, name string, o *Options) (*certificatesv1.CertificateSigningRequest, error) {
	return a.decide(ctx, name, certificatesv1.CertificateDenied, o)
}

// decide adds the condition for the decision.
func (a *API) decide(
	ctx context.Context, name string, decision certificatesv1.RequestConditionType, o *Options,
) (*certificatesv1.CertificateSigningRequest, error) {
	if o == nil {
		o = &Options{}
	}
	requests := client.ClusterWide[certificatesv1.CertificateSigningRequest](a.client)
	change := func(r *certificatesv1.CertificateSigningRequest) error {
		made := func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == decision }
		if !slices.ContainsFunc(r.Status.Conditions, made) {
			r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: decision, Status: corev1.ConditionTrue, Reason: cmp.Or(o.Reason, string(decision)), Message: o.Message,
			})
		}
		return nil
	}
	return requests.Subresource("approval").Modify(ctx, name, change, &client.ModifyOptions{DryRun: o.DryRun})
}
