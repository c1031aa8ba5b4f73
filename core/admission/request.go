// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/reviews"
	"github.com/kube-go/sdk/core/wire"
)

const (
	group      = "admission.k8s.io/"
	apiVersion = group + "v1"
	kind       = "AdmissionReview"
)

// Operation is an operation on an object.
type Operation string

// The operations, see
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Request is an admission request: whether a user may perform an operation on an object.
type Request struct {
	UID types.UID

	// Kind is the kind of Object and OldObject. Resource and Subresource identify the target of the request. They are in
	// the version that the webhook is registered for. RequestedKind, RequestedResource and RequestedSubresource are in the
	// version that the client used, which may be another one.
	Kind                 metav1.GroupVersionKind
	Resource             metav1.GroupVersionResource
	Subresource          string
	RequestedKind        metav1.GroupVersionKind
	RequestedResource    metav1.GroupVersionResource
	RequestedSubresource string

	Operation Operation

	// Ref is the object, as in core.RefOf. Its name is empty for a create with a generateName. Its namespace is empty for
	// a Namespace, although request.namespace is then the name.
	Ref core.ObjectRef

	User   User
	DryRun bool // nothing will be stored, so the webhook must not have side effects

	// Object is the new object for create and update, and the options of a connect. It is empty for delete.
	Object wire.Packed

	// OldObject is the existing object for update and delete. It is empty otherwise.
	OldObject wire.Packed

	// Options are the options of the operation, such as a CreateOptions object.
	Options wire.Packed
}

// User is the user that sends a request.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// review is the JSON of an AdmissionReview.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *requestBody  `json:"request,omitempty"`
	Response        *responseBody `json:"response,omitempty"`
}

type requestBody struct {
	UID                types.UID                    `json:"uid"`
	Kind               metav1.GroupVersionKind      `json:"kind"`
	Resource           metav1.GroupVersionResource  `json:"resource"`
	SubResource        string                       `json:"subResource"`
	RequestKind        *metav1.GroupVersionKind     `json:"requestKind"`
	RequestResource    *metav1.GroupVersionResource `json:"requestResource"`
	RequestSubResource string                       `json:"requestSubResource"`
	Name               string                       `json:"name"`
	Namespace          string                       `json:"namespace"`
	Operation          Operation                    `json:"operation"`
	UserInfo           userInfo                     `json:"userInfo"`
	Object             jsontext.Value               `json:"object"`
	OldObject          jsontext.Value               `json:"oldObject"`
	DryRun             bool                         `json:"dryRun"`
	Options            jsontext.Value               `json:"options"`
}

type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// Read reads the review of an HTTP request's body. The limits bound the body; nil means defaults.
//
// Errors: [*wire.TooLargeError]; a [*ReviewError] if the UID of the review could be read.
func Read(r io.Reader, limits *wire.Limits) (*Request, error) {
	body, head, err := reviews.Read(r, limits)
	var req *Request
	if err == nil {
		req, err = decode(body)
	}
	if err == nil {
		return req, nil
	}
	err = fmt.Errorf("admission review: %w", err)
	if head.Kind == kind && head.UID != "" {
		err = &ReviewError{UID: head.UID, APIVersion: head.APIVersion, Err: err}
	}
	return nil, err
}

// decode decodes a review.
func decode(body []byte) (*Request, error) {
	var in review
	if err := wire.UnmarshalJSON(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Kind != kind:
		return nil, fmt.Errorf("kind is %q, want %s", in.Kind, kind)
	case in.APIVersion != apiVersion:
		return nil, fmt.Errorf("apiVersion is %q, want %s; "+
			"set admissionReviewVersions: [v1] in the webhook's configuration", in.APIVersion, apiVersion)
	case in.Request == nil:
		return nil, errors.New("request is missing")
	case in.Request.UID == "":
		return nil, errors.New("request.uid is missing")
	}
	return in.Request.request(), nil
}

func (b *requestBody) request() *Request {
	r := &Request{
		UID: b.UID, Kind: b.Kind, Resource: b.Resource, Subresource: b.SubResource,
		RequestedKind: b.Kind, RequestedResource: b.Resource, RequestedSubresource: b.RequestSubResource,
		Operation: b.Operation, Ref: core.ObjectRef{Namespace: b.Namespace, Name: b.Name},
		User:   User{Name: b.UserInfo.Username, UID: b.UserInfo.UID, Groups: b.UserInfo.Groups, Extra: b.UserInfo.Extra},
		DryRun: b.DryRun,
		Object: pack(b.Object), OldObject: pack(b.OldObject), Options: pack(b.Options),
	}
	if b.Resource.Group == "" && b.Resource.Resource == "namespaces" {
		r.Ref.Namespace = "" // API servers set it to the name
	}
	if b.RequestKind != nil {
		r.RequestedKind = *b.RequestKind
	}
	if b.RequestResource != nil {
		r.RequestedResource = *b.RequestResource
	}
	return r
}

// pack returns the packed object, the empty one for null.
func pack(v jsontext.Value) wire.Packed {
	if len(v) == 0 || v.Kind() == 'n' {
		return wire.Packed{}
	}
	return wire.NewPacked(wire.JSON, v)
}
