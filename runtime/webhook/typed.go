// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/wire"
)

// Request is an admission request with decoded objects. The fields of [admission.Request] contain the operation, the
// subresource, the user, and whether it is a dry run.
type Request[K any] struct {
	*admission.Request

	// Object is the new object. It is nil for a deletion.
	Object *K

	// OldObject is the existing object. It is nil for a creation.
	OldObject *K

	warnings []string
}

// Warn shows a warning to the user, whether the request succeeds or not. A server cuts it after 256 characters.
func (r *Request[K]) Warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// Validate returns a handler of a validating webhook. f returns nil to allow the request, or an error that denies it.
// The user gets its message: name the field and the remedy.
//
// The status of a denial is 403. If the error contains a [*core.StatusError], or another error with a method Status such
// as those of package errors of apimachinery, the status is that of the error, so that f chooses it. If it contains a
// [*client.OpError], a request of f itself has failed: the status is 500, as for the end of the context.
//
// K may be unstructured.Unstructured or metav1.PartialObjectMetadata. Otherwise a request for another kind or version
// is denied with status 400: name only the version of K in the rules of the webhook. With the default matchPolicy, API
// servers convert objects to it. K may also be the Eviction of policy/v1 or the Scale of autoscaling/v1, which
// subresources have. A type whose kind [core.ResourceOf] does not know is an error of [Server.Run]; without a Server,
// all requests are denied with status 500.
func Validate[K any, P core.ObjectPtr[K]](
	f func(ctx context.Context, r *Request[K]) error, o *HandlerOptions,
) http.Handler {
	return typed[K, P](o, func(ctx context.Context, r *Request[K]) *admission.Response {
		if err := f(ctx, r); err != nil {
			return denial(err)
		}
		return admission.Allowed()
	})
}

// Mutate returns a handler of a mutating webhook. f changes Request.Object, and the handler responds with the
// difference; fields that K does not declare are kept. If f returns an error, the request is denied, as by [Validate].
//
// Requests without an object, which are deletions, are allowed without a call of f. An API server may call a webhook
// twice for the same request, so f must be idempotent.
func Mutate[K any, P core.ObjectPtr[K]](
	f func(ctx context.Context, r *Request[K]) error, o *HandlerOptions,
) http.Handler {
	return typed[K, P](o, func(ctx context.Context, r *Request[K]) *admission.Response {
		if r.Object == nil {
			return admission.Allowed()
		}
		if err := f(ctx, r); err != nil {
			return denial(err)
		}
		return admission.Patched[K, P](r.Request, r.Object)
	})
}

func typed[K any, P core.ObjectPtr[K]](
	o *HandlerOptions, review func(context.Context, *Request[K]) *admission.Response,
) http.Handler {
	resource, anyKind, unknown := kindOf[K, P]()
	h := newAdmission(func(ctx context.Context, req *admission.Request) (*admission.Response, error) {
		if unknown != nil {
			return admission.Errored(unknown), nil
		}
		got := req.Kind
		// An object of another version would be decoded without the fields that only its version has.
		if !anyKind && (got.Group != resource.Group || got.Version != resource.Version || got.Kind != resource.Kind) {
			return invalid(fmt.Errorf("this path is for %s of %s, but the request is for %s of %s: correct the path or the "+
				"rules in the webhook's configuration", resource.Kind, resource.APIVersion(),
				got.Kind, core.Resource{Group: got.Group, Version: got.Version}.APIVersion()))
		}
		r := &Request[K]{Request: req}
		var err error
		if r.Object, err = decode[K, P](req.Object); err != nil {
			return invalid(fmt.Errorf("decode object: %w", err))
		}
		if r.OldObject, err = decode[K, P](req.OldObject); err != nil {
			return invalid(fmt.Errorf("decode oldObject: %w", err))
		}
		resp := review(ctx, r)
		resp.Warnings = append(resp.Warnings, r.warnings...)
		return resp, nil
	}, o)
	h.mistake = unknown
	return h
}

// kindOf returns the kind of a Go type, of which only Group, Version and Kind are set for the body of a subresource. It
// reports whether the objects of the type may have any kind.
func kindOf[K any, P core.ObjectPtr[K]]() (kind core.Resource, anyKind bool, err error) {
	switch any(P(new(K))).(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return kind, true, nil
	}
	// The names of the types, so that programs without them do not link them.
	switch t := reflect.TypeFor[K](); t.PkgPath() + "." + t.Name() {
	case "k8s.io/api/policy/v1.Eviction":
		return core.Resource{Group: "policy", Version: "v1", Kind: "Eviction"}, false, nil
	case "k8s.io/api/autoscaling/v1.Scale", "github.com/kube-go/sdk/core.Scale":
		return core.Resource{Group: "autoscaling", Version: "v1", Kind: "Scale"}, false, nil
	}
	if kind, err = core.ResourceOf[K, P](); err != nil {
		err = fmt.Errorf("%w; a webhook needs a type with a method KubeResource() core.Resource", err)
	}
	return kind, false, err
}

// decode returns the object, or nil if it is empty.
func decode[K any, P core.ObjectPtr[K]](packed wire.Packed) (*K, error) {
	if packed.Len() == 0 {
		return nil, nil
	}
	obj := new(K)
	if err := packed.Decode(P(obj)); err != nil {
		return nil, err
	}
	return obj, nil
}

// denial returns the response for an error of a callback.
func denial(err error) *admission.Response {
	_, own := errors.AsType[*client.OpError](err)
	chosen, ok := errors.AsType[*core.StatusError](err)
	other, hasStatus := errors.AsType[interface {
		error
		Status() metav1.Status
	}](err)
	switch {
	case own, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return admission.Errored(errors.New(err.Error())) // the status of the request of f means something else
	case ok && err == error(chosen):
		return deny(chosen.Status)
	case ok:
		return admission.Errored(err)
	case hasStatus:
		status := other.Status()
		status.Message = err.Error()
		return deny(status)
	default:
		return admission.Denied(err.Error())
	}
}

// invalid returns the response to a request that the webhook can't understand, and err.
func invalid(err error) (*admission.Response, error) {
	return deny(metav1.Status{
		Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error(),
	}), err
}

func deny(status metav1.Status) *admission.Response {
	status.Status = metav1.StatusFailure
	return &admission.Response{Status: &status}
}
