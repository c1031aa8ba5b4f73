// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ApprovalOptions are the options of [API.Approve] and [API.Deny].
type ApprovalOptions struct {
	Reason  string // one word for programs. Default: "Approved" or "Denied".
	Message string // for people. Default: none.
	DryRun  bool   // go through everything but the storing
}

// Approve approves a certificate signing request, so that its signer issues the certificate, and returns it as stored.
// One that is approved already is left as it is. That the request says what it should is for the caller to have looked at.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] when it was denied before; a [*request.InvalidError] for other kinds.
func (a *API[K]) Approve(ctx context.Context, name string, o *ApprovalOptions) (*K, error) {
	return a.decide(ctx, "approve", "Approved", name, o)
}

// Deny denies a certificate signing request for good, and returns it as stored. One that is denied already is left as it
// is.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid] when it was approved before; a [*request.InvalidError] for other kinds.
func (a *API[K]) Deny(ctx context.Context, name string, o *ApprovalOptions) (*K, error) {
	return a.decide(ctx, "deny", "Denied", name, o)
}

// decide adds a condition, which is the decision.
func (a *API[K]) decide(ctx context.Context, verb, decision, name string, o *ApprovalOptions) (*K, error) {
	if err := a.only(strings.ToLower(decision), "certificatesigningrequests.certificates.k8s.io"); err != nil {
		return nil, wrap(verb, a.named(name), err)
	}
	if o == nil {
		o = &ApprovalOptions{}
	}
	return a.Subresource("approval").api.modifyAny(ctx, name, func(obj map[string]any) error {
		conditions, _, err := unstructured.NestedSlice(obj, "status", "conditions")
		if err != nil {
			return err
		}
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == decision {
				return nil
			}
		}
		return unstructured.SetNestedSlice(obj, append(conditions, map[string]any{
			"type": decision, "status": "True", "reason": cmp.Or(o.Reason, decision), "message": o.Message,
		}), "status", "conditions")
	}, &ModifyOptions{DryRun: o.DryRun})
}
