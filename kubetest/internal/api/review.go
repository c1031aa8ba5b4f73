// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// isReview returns whether objects of the kind are questions that the server answers and does not store.
func isReview(k *kind) bool {
	return k.Group == "authorization.k8s.io" || k.Group == "authentication.k8s.io"
}

// review responds to a question about permissions: everything is permitted.
func (c *call) review(obj *unstructured.Unstructured) error {
	switch c.kind.Kind {
	case "SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview":
		setNested(obj, map[string]any{"allowed": true, "reason": "kubetest permits everything"}, "status")
	case "SelfSubjectRulesReview":
		all := []any{"*"}
		setNested(obj, map[string]any{
			"incomplete":       false,
			"resourceRules":    []any{map[string]any{"verbs": all, "apiGroups": all, "resources": all}},
			"nonResourceRules": []any{map[string]any{"verbs": all, "nonResourceURLs": all}},
		}, "status")
	case "SelfSubjectReview":
		setNested(obj, map[string]any{"username": "kubetest", "groups": []any{"system:masters", "system:authenticated"}},
			"status", "userInfo")
	default:
		return unsupported("authentication, such as a " + c.kind.Kind)
	}
	respond(c.w, http.StatusCreated, obj.Object)
	return nil
}
