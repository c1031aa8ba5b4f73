// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"net/http"

	"github.com/kube-go/sdk/client/webhook"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
)

// Admission webhooks.
type (
	// AdmissionRequest asks whether a user may perform an operation: Operation, Ref, User, Object, OldObject, Kind,
	// Resource, DryRun and more. Object and OldObject have the method Decode. See [admission.Request].
	AdmissionRequest = admission.Request
	// AdmissionResponse is the response: Allowed, Status, Patch, Warnings, AuditAnnotations. [AllowAdmission],
	// [DenyAdmission] and [PatchAdmission] return one. See [admission.Response].
	AdmissionResponse = admission.Response
)

// AdmissionHandler returns the HTTP handler of a validating or mutating webhook, which calls review for each request.
// See [webhook.Admission].
func AdmissionHandler(
	review func(context.Context, *AdmissionRequest) *AdmissionResponse, o *webhook.Options,
) http.Handler {
	return webhook.Admission(review, o)
}

// AllowAdmission returns the response that allows a request. See [admission.Allow].
func AllowAdmission() *AdmissionResponse { return admission.Allow() }

// DenyAdmission returns the response that denies a request, and why. See [admission.Deny].
func DenyAdmission(reason string) *AdmissionResponse { return admission.Deny(reason) }

// PatchAdmission returns the response that allows a request and changes its object to another state. See
// [admission.Patched].
func PatchAdmission[K any, P core.ObjectPtr[K]](req *AdmissionRequest, to *K) *AdmissionResponse {
	return admission.Patched[K, P](req, to)
}

// ConversionHandler returns the HTTP handler of a conversion webhook. The method Convert of a converter of package
// core/conversion is such a function. See [webhook.Conversion].
func ConversionHandler(convert conversion.Func, o *webhook.Options) http.Handler {
	return webhook.Conversion(convert, o)
}
