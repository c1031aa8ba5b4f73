// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

// isReview returns whether objects of the kind are questions that the server answers and does not store.
func isReview(k *kind) bool {
	return k.Group == "authorization.k8s.io" || k.Group == "authentication.k8s.io"
}

// review responds to a question about permissions or about the user.
func (c *call) review(obj *unstructured.Unstructured) error {
	switch c.kind.Kind {
	case "SubjectAccessReview", "LocalSubjectAccessReview":
		var user rbac.User
		user.Name, _, _ = unstructured.NestedString(obj.Object, "spec", "user")
		user.Groups, _, _ = unstructured.NestedStringSlice(obj.Object, "spec", "groups")
		c.reviewAccess(obj, &user)
	case "SelfSubjectAccessReview":
		c.reviewAccess(obj, &c.user)
	case "SelfSubjectRulesReview":
		ns, _, _ := unstructured.NestedString(obj.Object, "spec", "namespace")
		resources, paths := c.rulesOf(&c.user, ns)
		setNested(obj, map[string]any{
			"incomplete": false, "resourceRules": emptyIfNil(resources), "nonResourceRules": emptyIfNil(paths),
		}, "status")
	case "SelfSubjectReview":
		obj.SetCreationTimestamp(metav1.Now())
		setNested(obj, plainUserInfo(&c.user), "status", "userInfo")
	default:
		return unsupported("authentication, such as a " + c.kind.Kind)
	}
	if meta, ok := obj.Object["metadata"].(map[string]any); ok && len(meta) == 0 {
		delete(obj.Object, "metadata")
	}
	respond(c.w, http.StatusCreated, obj.Object)
	return nil
}

func emptyIfNil(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// reviewAccess responds whether a user may send a request.
func (c *call) reviewAccess(obj *unstructured.Unstructured, u *rbac.User) {
	r := &rbac.Request{}
	if path, ok, _ := unstructured.NestedString(obj.Object, "spec", "nonResourceAttributes", "path"); ok {
		r.Path = path
		r.Verb, _, _ = unstructured.NestedString(obj.Object, "spec", "nonResourceAttributes", "verb")
	} else {
		for name, to := range map[string]*string{
			"verb": &r.Verb, "group": &r.Group, "resource": &r.Resource, "subresource": &r.Subresource,
			"namespace": &r.Namespace, "name": &r.Name,
		} {
			*to, _, _ = unstructured.NestedString(obj.Object, "spec", "resourceAttributes", name)
		}
	}
	ok, reason := c.permits(u, r)
	status := map[string]any{"allowed": ok}
	if reason != "" {
		status["reason"] = reason
	}
	setNested(obj, status, "status")
}

// userInfo returns a user as reviews have it.
func userInfo(u *rbac.User) authenticationv1.UserInfo {
	extra := make(map[string]authenticationv1.ExtraValue, len(u.Extra))
	for key, values := range u.Extra {
		extra[key] = values
	}
	return authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups, Extra: extra}
}

// plainUserInfo returns a user as a SelfSubjectReview has it.
func plainUserInfo(u *rbac.User) map[string]any {
	info := userInfo(u)
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&info)
	if err != nil {
		panic(err) // it has only strings
	}
	return plain
}
