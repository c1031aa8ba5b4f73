// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"maps"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// isSigningRequest returns whether objects of the kind are CertificateSigningRequests.
func isSigningRequest(k *kind) bool { return k.Kind == "CertificateSigningRequest" }

// setRequester sets the requester of a certificate to the user of the HTTP request.
func (w *write) setRequester(obj *unstructured.Unstructured) {
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"username", "uid", "groups", "extra"} {
		delete(spec, name)
	}
	if w.call != nil {
		maps.Copy(spec, plainUserInfo(&w.call.user))
	}
}

// separateApproval keeps everything except for the conditions.
func separateApproval(obj, live *unstructured.Unstructured) field.ErrorList {
	next := conditions(obj)
	keepOthers(obj, live)
	obj.Object["status"] = live.DeepCopy().Object["status"]
	unstructured.RemoveNestedField(obj.Object, "status", "conditions")
	if len(next) > 0 {
		setNested(obj, next, "status", "conditions")
	}
	setConditionTimes(obj, live)
	return removedConditions(obj, live)
}

// separateConditions keeps the conditions by which a request is approved or denied.
func separateConditions(obj, live *unstructured.Unstructured) field.ErrorList {
	errs := removedConditions(obj, live)
	before, next := conditions(live), conditions(obj)
	for _, t := range []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied,
	} {
		from, to := conditionsOf(before, t), conditionsOf(next, t)
		if len(to) > len(from) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"),
				fmt.Sprintf("updates may not add a condition of type %q", t)))
		}
		for i := range min(len(from), len(to)) {
			next[to[i]] = before[from[i]]
		}
	}
	if len(next) > 0 {
		setNested(obj, next, "status", "conditions")
	}
	setConditionTimes(obj, live)
	return errs
}

// removedConditions returns an error for each kind of condition that an update removes.
func removedConditions(obj, live *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	for _, t := range []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
	} {
		if len(conditionsOf(conditions(obj), t)) < len(conditionsOf(conditions(live), t)) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"),
				fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	return errs
}

// conditions returns a copy of the conditions of an object.
func conditions(obj *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return list
}

// conditionsOf returns the indices of the conditions of a type.
func conditionsOf(list []any, t certificatesv1.RequestConditionType) (indices []int) {
	for i, element := range list {
		if c, ok := element.(map[string]any); ok && c["type"] == string(t) {
			indices = append(indices, i)
		}
	}
	return indices
}

// setConditionTimes sets the times of the conditions that have none. A condition that live has with the same status
// keeps the time of its last transition.
func setConditionTimes(obj, live *unstructured.Unstructured) {
	now := metav1.Now().UTC().Format(time.RFC3339)
	list := conditions(obj)
	for _, element := range list {
		c, ok := element.(map[string]any)
		if !ok {
			continue
		}
		if c["lastUpdateTime"] == nil {
			c["lastUpdateTime"] = now
		}
		if c["lastTransitionTime"] != nil {
			continue
		}
		c["lastTransitionTime"] = now
		for _, element := range conditions(live) {
			before, _ := element.(map[string]any)
			if before["type"] == c["type"] && before["status"] == c["status"] && before["lastTransitionTime"] != nil {
				c["lastTransitionTime"] = before["lastTransitionTime"]
				break
			}
		}
	}
	if len(list) > 0 {
		setNested(obj, list, "status", "conditions")
	}
}
