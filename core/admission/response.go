// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Response is the response to a request. [Allowed], [Denied], [Errored] and [Patched] return one. Set Warnings and
// AuditAnnotations where needed.
type Response struct {
	Allowed bool

	// Status is the response to the user if the request is not allowed.
	Status *metav1.Status

	// Patch changes the object. Only a mutating webhook may do that, and only when it allows the request.
	Patch []request.Op

	// Warnings are shown to the user, whether the request succeeds or not. A server cuts each after 256 characters.
	Warnings []string

	// AuditAnnotations are written to the audit log. Their names have no prefix; the server adds the webhook's name.
	AuditAnnotations map[string]string
}

type responseBody struct {
	UID              types.UID         `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *metav1.Status    `json:"status,omitempty"`
	Patch            []byte            `json:"patch,omitempty"`
	PatchType        string            `json:"patchType,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

// Allowed returns a response that allows the request unchanged.
func Allowed() *Response { return &Response{Allowed: true} }

// Denied returns a response that denies the request. The reason is shown to the user: name the field and the remedy.
func Denied(reason string) *Response {
	return refuse(metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: reason})
}

// Errored returns a response that denies the request because the webhook failed. The user gets the message of err, with
// the code and reason of a wrapped [*core.StatusError], or an internal error otherwise.
func Errored(err error) *Response {
	status := metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError}
	if se, ok := errors.AsType[*core.StatusError](err); ok && se.Status.Code >= 400 {
		status = *se.Status.DeepCopy()
	}
	status.Message = err.Error()
	return refuse(status)
}

func refuse(status metav1.Status) *Response {
	status.Status = metav1.StatusFailure
	return &Response{Status: &status}
}

// Patched returns a response that allows the request and changes its object to another one, which was decoded from it.
// Fields that K does not declare stay unchanged. The response is that of [Allowed] if nothing has changed, and that of
// [Errored] if the request has no object of type K, or if the other one is nil.
func Patched[K any, P core.ObjectPtr[K]](req *Request, to *K) *Response {
	switch {
	case req.Object.Len() == 0:
		return Errored(fmt.Errorf("a %s has no object to change", req.Operation))
	case to == nil:
		return Errored(errors.New("the changed object is nil"))
	}
	from := new(K)
	if err := req.Object.Decode(P(from)); err != nil {
		return Errored(fmt.Errorf("decode the object: %w", err))
	}
	ops, err := patch.DiffJSON(from, to, &patch.Options{Raw: req.Object.Bytes()})
	if err != nil {
		return Errored(err)
	}
	return &Response{Allowed: true, Patch: ops}
}

// Encode returns the body of the HTTP response to a request. Its content type is application/json.
func (r *Response) Encode(req *Request) ([]byte, error) {
	if r.Allowed && r.Status != nil && r.Status.Status == metav1.StatusFailure {
		return nil, errors.New("admission response: is allowed, but has a Status; remove the Status, or deny the request")
	}
	if !r.Allowed && len(r.Patch) > 0 {
		return nil, errors.New("admission response: has a Patch, but is not allowed; remove the Patch, or allow the request")
	}
	for name := range r.AuditAnnotations {
		if !isAnnotation(name) {
			return nil, fmt.Errorf(
				"admission response: AuditAnnotations: %q must be 1 to 63 letters, digits, or - _ . between them",
				name,
			)
		}
	}
	body := &responseBody{
		UID: req.UID, Allowed: r.Allowed, Status: r.Status, Warnings: r.Warnings, AuditAnnotations: r.AuditAnnotations,
	}
	if len(r.Patch) > 0 {
		data, err := encodePatch(r.Patch)
		if err != nil {
			return nil, fmt.Errorf("admission response: Patch: %w", err)
		}
		body.Patch, body.PatchType = data, "JSONPatch"
	}
	return body.encode(apiVersion)
}

// encodePatch checks and encodes operations. For that it builds a request for any object.
func encodePatch(ops []request.Op) ([]byte, error) {
	target := request.Target{Resource: core.Resource{Version: "-", Kind: "-", Plural: "-"}, Name: "-"}
	r, err := request.PatchObject(target, request.JSONPatch(ops...), nil)
	if invalid, ok := errors.AsType[*request.InvalidError](err); ok {
		return nil, errors.New(invalid.Field + ": " + invalid.Detail)
	}
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

func (b *responseBody) encode(version string) ([]byte, error) {
	out := review{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}, Response: b}
	data, err := wire.MarshalJSON(out)
	if err != nil {
		return nil, fmt.Errorf("admission response: %w", err)
	}
	return data, nil
}

// ReviewError is the error of an invalid review, with the fields that the response to it needs.
type ReviewError struct {
	UID        types.UID // empty if it can't be read; then the server rejects the response, and shows an error of its own
	APIVersion string    // of the review
	Err        error
}

// Error returns the message of Err.
func (e *ReviewError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReviewError) Unwrap() error { return e.Err }

// Encode returns the body of the HTTP response: a denial whose status has the code, and the error as its message. It
// has the version of the review, since a server does not understand another one. The status of the HTTP response is
// 200, because a server shows no message of another one.
func (e *ReviewError) Encode(code int) ([]byte, error) {
	version := e.APIVersion
	if !strings.HasPrefix(version, group) {
		version = apiVersion
	}
	status := metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: e.Error()}
	switch code {
	case 413:
		status.Reason = metav1.StatusReasonRequestEntityTooLarge
	case 415:
		status.Reason = metav1.StatusReasonUnsupportedMediaType
	default:
		status.Reason = metav1.StatusReasonBadRequest
	}
	return (&responseBody{UID: e.UID, Status: &status}).encode(version)
}

// isAnnotation reports whether a server accepts the name of an audit annotation.
func isAnnotation(name string) bool {
	const between = "-_."
	alien := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(between, r)
	}
	return name != "" && len(name) <= 63 && strings.Trim(name, between) == name && !strings.ContainsFunc(name, alien)
}
