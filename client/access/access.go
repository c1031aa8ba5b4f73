// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Action is an action to check: a verb on a resource, or on a path that is not a resource.
type Action struct {
	Verb string // the RBAC verb, such as "list"; "*" for all verbs

	Resource    core.Resource // only Group, Version and Plural are used; a Plural of "*" means all resources
	Subresource string        // such as "log"; empty for the resource itself
	Namespace   string        // empty for cluster-scoped kinds, and for all namespaces
	Name        string        // empty for all objects

	Path string // such as "/metrics"; excludes a resource
}

// check returns an error if the action is invalid.
func (a Action) check() error {
	resource := a.Resource.Plural != "" || a.Resource.Group != "" || a.Subresource != "" || a.Namespace != "" ||
		a.Name != ""
	switch {
	case a.Verb == "":
		return &request.InvalidError{Field: "Action.Verb", Detail: "is empty; name a verb such as get, or * for all"}
	case a.Path != "" && resource:
		return &request.InvalidError{
			Field: "Action.Path", Detail: "conflicts with the fields of a resource; leave one of them empty",
		}
	case a.Path == "" && a.Resource.Plural == "":
		return &request.InvalidError{Field: "Action.Resource", Detail: "has an empty Plural; name a resource, or set Path"}
	}
	return nil
}

// Decision is the server's decision whether an action is allowed.
type Decision struct {
	Allowed bool

	// Denied reports that the decision is final: no other authorizer was asked. It is rarely true.
	Denied bool

	Reason          string // the reason, often empty
	EvaluationError string // the error that kept the server from asking all its authorizers
}

// reviews is the resource of access reviews for the requesting user.
func reviews() core.Resource {
	return core.Resource{
		Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview", Plural: "selfsubjectaccessreviews",
	}
}

// review is a SelfSubjectAccessReview, see
// https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/.
type review struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Resource *resourceAttributes `json:"resourceAttributes,omitempty"`
		Path     *pathAttributes     `json:"nonResourceAttributes,omitempty"`
	} `json:"spec"`
	Status struct {
		Allowed         bool   `json:"allowed"`
		Denied          bool   `json:"denied"`
		Reason          string `json:"reason"`
		EvaluationError string `json:"evaluationError"`
	} `json:"status,omitzero"`
}

type resourceAttributes struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

type pathAttributes struct {
	Path string `json:"path"`
	Verb string `json:"verb"`
}

// Can asks the server whether the client is allowed to perform an action.
//
// Errors: [*request.InvalidError] for an invalid action.
func Can(ctx context.Context, c *client.Client, a Action) (*Decision, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	r := new(review)
	if a.Path != "" {
		r.Spec.Path = &pathAttributes{Path: a.Path, Verb: a.Verb}
	} else {
		r.Spec.Resource = &resourceAttributes{
			Namespace: a.Namespace, Verb: a.Verb, Group: a.Resource.Group, Version: a.Resource.Version,
			Resource: a.Resource.Plural, Subresource: a.Subresource, Name: a.Name,
		}
	}
	r, err := client.Of[review](c, reviews()).Create(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	return new(Decision(r.Status)), nil
}
