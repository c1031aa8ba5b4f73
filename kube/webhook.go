// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !wasip1

package kube

import (
	"context"
	"net/http"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/runtime/webhook"
)

// Webhooks.
type (
	// WebhookServer serves webhooks over TLS, with certificates that it makes and replaces. [NewWebhookServer] returns
	// one; a [Manager] runs it with AddToAll. Methods: Handle, Run, Ready, Metrics, Name. See [webhook.Server].
	WebhookServer = webhook.Server
	// WebhookServerOptions are the options of [NewWebhookServer]: Addr, Listener, Service, Namespace, Hosts, Mutating,
	// Validating, Definitions, Secret, AuthorityLifetime, CertificateLifetime, PublishDelay, CertDir, Interval, StopDelay,
	// MaxBodyBytes, TLS, Logger. See [webhook.Options].
	WebhookServerOptions = webhook.Options
	// WebhookHandlerOptions are the options of handlers: Limits, Logger. See [webhook.HandlerOptions].
	WebhookHandlerOptions = webhook.HandlerOptions
	// WebhookRequest is an admission request with decoded objects: Object, OldObject, and the fields of
	// [AdmissionRequest]. Method: Warn. See [webhook.Request].
	WebhookRequest[K any] = webhook.Request[K]
	// AdmissionRequest asks whether a user may perform an operation: Operation, Ref, User, Object, OldObject, Kind,
	// Resource, DryRun and more. Object and OldObject have the method Decode. See [admission.Request].
	AdmissionRequest = admission.Request
	// AdmissionResponse is the response: Allowed, Status, Patch, Warnings, AuditAnnotations. [AllowAdmission],
	// [DenyAdmission] and [PatchAdmission] return one. See [admission.Response].
	AdmissionResponse = admission.Response
)

// NewWebhookServer returns a server of webhooks. See [webhook.NewServer].
func NewWebhookServer(c *Client, o *WebhookServerOptions) *WebhookServer {
	return webhook.NewServer(c, o)
}

// ValidateHandler returns the HTTP handler of a validating webhook for objects of K. An error of f denies the request.
// See [webhook.Validate].
func ValidateHandler[K any, P core.ObjectPtr[K]](
	f func(context.Context, *WebhookRequest[K]) error, o *WebhookHandlerOptions,
) http.Handler {
	return webhook.Validate[K, P](f, o)
}

// MutateHandler returns the HTTP handler of a mutating webhook for objects of K, which f changes. See [webhook.Mutate].
func MutateHandler[K any, P core.ObjectPtr[K]](
	f func(context.Context, *WebhookRequest[K]) error, o *WebhookHandlerOptions,
) http.Handler {
	return webhook.Mutate[K, P](f, o)
}

// AdmissionHandler returns the HTTP handler of a validating or mutating webhook for any kinds, which calls review for
// each request.
// See [webhook.Admission].
func AdmissionHandler(
	review func(context.Context, *AdmissionRequest) *AdmissionResponse, o *WebhookHandlerOptions,
) http.Handler {
	return webhook.Admission(review, o)
}

// AllowAdmission returns the response that allows a request. See [admission.Allowed].
func AllowAdmission() *AdmissionResponse { return admission.Allowed() }

// DenyAdmission returns the response that denies a request, and why. See [admission.Denied].
func DenyAdmission(reason string) *AdmissionResponse { return admission.Denied(reason) }

// PatchAdmission returns the response that allows a request and changes its object to another state. See
// [admission.Patched].
func PatchAdmission[K any, P core.ObjectPtr[K]](req *AdmissionRequest, to *K) *AdmissionResponse {
	return admission.Patched[K, P](req, to)
}

// ConversionHandler returns the HTTP handler of a conversion webhook. The method Convert of a converter of package
// core/conversion is such a function. See [webhook.Conversion].
func ConversionHandler(convert conversion.Func, o *WebhookHandlerOptions) http.Handler {
	return webhook.Conversion(convert, o)
}
