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

// Action is what one would like to do: a verb with a resource, or with a path that is none of a resource's.
type Action struct {
	Verb string // the RBAC verb, such as "list"; "*" for all verbs

	Resource    core.Resource // its Group, Version and Plural count; a Plural of "*" is all resources
	Subresource string        // such as "log"; empty for the object itself
	Namespace   string        // empty for cluster-scoped kinds, and for all namespaces
	Name        string        // empty for all objects

	Path string // such as "/metrics", instead of a resource
}

// check returns what is wrong with an action.
func (a Action) check() error {
	resource := a.Resource.Plural != "" || a.Resource.Group != "" || a.Subresource != "" || a.Namespace != "" || a.Name != ""
	switch {
	case a.Verb == "":
		return &request.InvalidError{Field: "Action.Verb", Detail: "is empty; name a verb such as get, or * for all"}
	case a.Path != "" && resource:
		return &request.InvalidError{Field: "Action.Path", Detail: "goes with no resource; leave one of them empty"}
	case a.Path == "" && a.Resource.Plural == "":
		return &request.InvalidError{Field: "Action.Resource", Detail: "has no Plural; name a resource, or a Path"}
	}
	return nil
}

// Decision is a server's answer to whether one may do something.
type Decision struct {
	Allowed bool

	// Denied is that the answer is final: no other authorizer was asked. It is rarely true.
	Denied bool

	Reason          string // why, often empty
	EvaluationError string // what has kept the server from asking all its authorizers
}

// Options are the options of [Can]. There are none yet.
type Options struct{}

// reviews is the resource of questions about what the asker may do.
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

// Can asks the server whether the client may do something.
//
// Errors: [*request.InvalidError] for an action that makes no sense.
func Can(ctx context.Context, c *client.Client, a Action, _ *Options) (*Decision, error) {
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
