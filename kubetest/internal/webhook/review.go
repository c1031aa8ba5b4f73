// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Request is a request that webhooks review.
type Request struct {
	Operation   admissionv1.Operation
	Versions    []Version // of the kind, first that of the request
	Subresource string
	Namespace   string // that of a namespace is its name
	Name        string // empty until it is generated, and if a collection is deleted
	User        authenticationv1.UserInfo
	DryRun      bool
	Options     runtime.RawExtension

	NamespaceLabels map[string]string // of Namespace, unless the request is for a namespace
	Object, Old     *unstructured.Unstructured
}

// Version is a version of a kind.
type Version struct {
	Kind     schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// Convert returns an object in this version.
	Convert func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Complete returns an object as it is decoded, with its defaults and without unknown fields.
	Complete func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// isNamespace returns whether the request is for a namespace.
func (r *Request) isNamespace() bool {
	gvr := r.Versions[0].Resource
	return gvr.Group == "" && gvr.Resource == "namespaces"
}

// callError is the error of a webhook that could not be called. The failurePolicy of the webhook decides about it.
type callError struct {
	hook string
	err  error
}

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: failed to call webhook: %v", e.hook, e.err)
}

func (e *callError) Unwrap() error { return e.err }

// Mutate calls hooks one after the other, and changes the object of the request as they ask for. Hooks with the
// reinvocationPolicy IfNeeded are called once more if a later one has changed the object.
//
// Errors: *apierrors.StatusError, that of the server.
func Mutate(ctx context.Context, h http.Handler, hooks []*Hook, r *Request, warn func(string)) error {
	var invoked, again []*Hook
	for _, hook := range hooks {
		called, changed, err := review(ctx, h, hook, r, true, warn)
		if err != nil {
			return err
		}
		if changed {
			again, invoked = append(again, invoked...), nil
		}
		if called && *hook.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
			invoked = append(invoked, hook)
		}
	}
	for _, hook := range hooks {
		if !slices.Contains(again, hook) {
			continue
		}
		if _, _, err := review(ctx, h, hook, r, true, warn); err != nil {
			return err
		}
	}
	return nil
}

// Validate calls all hooks, and returns the error of the first one that denies the request.
//
// Errors: *apierrors.StatusError, that of the server.
func Validate(ctx context.Context, h http.Handler, hooks []*Hook, r *Request, warn func(string)) error {
	var first error
	for _, hook := range hooks {
		if _, _, err := review(ctx, h, hook, r, false, warn); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// review calls a hook, unless the request does not match.
func review(
	ctx context.Context, h http.Handler, hook *Hook, r *Request, mutating bool, warn func(string),
) (called, changed bool, err error) {
	v := hook.version(r)
	if v == nil || !hook.selects(r) {
		return false, false, nil
	}
	changed, err = hook.call(ctx, h, v, r, mutating, warn)
	failed, ok := errors.AsType[*callError](err)
	switch {
	case !ok:
		return true, changed, err
	case ctx.Err() != nil: // so that a client that has gone writes nothing
		return true, false, apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	case *hook.FailurePolicy == admissionregistrationv1.Ignore:
		warn(fmt.Sprintf("kubetest ignores the failure, as the failurePolicy of the webhook demands: %v", failed))
		return true, changed, nil
	default:
		return true, changed, apierrors.NewInternalError(failed)
	}
}

// call sends a review to a hook, and changes the object of the request.
func (h *Hook) call(
	ctx context.Context, handler http.Handler, v *Version, r *Request, mutating bool, warn func(string),
) (changed bool, err error) {
	switch {
	case len(h.MatchConditions) > 0:
		return false, apierrors.NewInternalError(fmt.Errorf(
			"the webhook %q has matchConditions, which kubetest does not have: use a real cluster", h.Name))
	case !slices.Contains(h.AdmissionReviewVersions, "v1"):
		return false, &callError{h.Name, fmt.Errorf(
			"admissionReviewVersions are %q, and kubetest sends reviews of v1", h.AdmissionReviewVersions)}
	}
	sent, err := r.review(v)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	var got admissionv1.AdmissionReview
	if err := post(ctx, handler, &h.ClientConfig, h.timeout(), sent, &got); err != nil {
		return false, &callError{h.Name, err}
	}
	if err := check(&got, sent, mutating); err != nil {
		return false, &callError{h.Name, fmt.Errorf("received invalid webhook response: %w", err)}
	}
	for _, text := range got.Response.Warnings {
		warn(text)
	}
	if !got.Response.Allowed {
		return false, denial(h.Name, got.Response.Result)
	}
	return r.patch(h.Name, v, got.Response.Patch)
}

// review returns the review that a hook receives.
func (r *Request) review(v *Version) (*admissionv1.AdmissionReview, error) {
	requested := r.Versions[0]
	dryRun := r.DryRun
	req := &admissionv1.AdmissionRequest{
		UID: uuid.NewUUID(), Kind: metav1.GroupVersionKind(v.Kind), Resource: metav1.GroupVersionResource(v.Resource),
		SubResource: r.Subresource, RequestKind: (*metav1.GroupVersionKind)(&requested.Kind),
		RequestResource:    (*metav1.GroupVersionResource)(&requested.Resource),
		RequestSubResource: r.Subresource, Name: r.Name, Namespace: r.Namespace, Operation: r.Operation, UserInfo: r.User,
		DryRun: &dryRun, Options: r.Options,
	}
	for _, o := range []struct {
		obj  *unstructured.Unstructured
		into *runtime.RawExtension
	}{{r.Object, &req.Object}, {r.Old, &req.OldObject}} {
		if o.obj == nil {
			continue
		}
		obj, err := v.Convert(o.obj)
		if err != nil {
			return nil, err
		}
		o.into.Object = obj
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Request: req,
	}, nil
}

// check returns an error if a response is invalid.
func check(got, sent *admissionv1.AdmissionReview, mutating bool) error {
	r := got.Response
	switch {
	case r == nil:
		return errors.New("webhook response was absent")
	case r.UID != sent.Request.UID:
		return fmt.Errorf("expected response.uid=%q, got %q", sent.Request.UID, r.UID)
	case got.TypeMeta != sent.TypeMeta:
		return fmt.Errorf("expected webhook response of %s, got %s", sent.GroupVersionKind(), got.GroupVersionKind())
	case !mutating && len(r.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && r.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(r.Patch) > 0 && r.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(r.Patch) == 0 && r.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case r.PatchType != nil && *r.PatchType != admissionv1.PatchTypeJSONPatch:
		return fmt.Errorf("unsupported patch type %q", *r.PatchType)
	}
	return nil
}

// denial returns the error of a request that a webhook denies.
func denial(hook string, result *metav1.Status) error {
	status := metav1.Status{}
	if result != nil {
		status = *result
	}
	status.Code = max(status.Code, http.StatusBadRequest)
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	by := fmt.Sprintf("admission webhook %q denied the request", hook)
	switch {
	case status.Message != "":
		status.Message = by + ": " + status.Message
	case status.Reason != "":
		status.Message = by + ": " + string(status.Reason)
	default:
		status.Message = by + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// patch applies the patch of a hook to the object of the request.
func (r *Request) patch(hook string, v *Version, body []byte) (changed bool, err error) {
	if len(body) == 0 {
		return false, nil
	}
	patch, err := jsonpatch.DecodePatch(body)
	switch {
	case err != nil:
		return false, &callError{hook, fmt.Errorf("received undecodable patch in webhook response: %w", err)}
	case len(patch) == 0:
		return false, nil
	case r.Object == nil:
		return false, apierrors.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", hook))
	}
	before, err := v.Convert(r.Object)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	doc, err := before.MarshalJSON()
	if err == nil {
		doc, err = patch.Apply(doc)
	}
	after := &unstructured.Unstructured{}
	if err == nil {
		err = utiljson.Unmarshal(doc, &after.Object)
	}
	if err == nil {
		after, err = v.Complete(after)
	}
	if err == nil {
		after, err = r.Versions[0].Convert(after)
	}
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed = !equality.Semantic.DeepEqual(r.Object.Object, after.Object)
	r.Object = after
	return changed, nil
}
