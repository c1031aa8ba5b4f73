// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/admission"
)

const labelled = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE",
	"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","labels":{"team":"a"}},"spec":{"containers":[]}}}}`

// review is the function of a webhook: it requires the label team, and derives the priority from it.
func review(req *admission.Request) *admission.Response {
	pod := new(corev1.Pod)
	if err := req.Object.Decode(pod); err != nil {
		return admission.Errored(err)
	}
	if pod.Labels["team"] == "" {
		return admission.Denied("metadata.labels.team: is missing: set it to the team that runs the pod")
	}
	pod.Spec.PriorityClassName = "team-" + pod.Labels["team"]
	return admission.Patched(req, pod)
}

func ExamplePatched() {
	req, err := admission.Read(strings.NewReader(labelled), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp := review(req)
	for _, op := range resp.Patch {
		fmt.Println(op.Op, op.Path, op.Value)
	}
	// Output: add /spec/priorityClassName team-a
}

func ExampleDenied() {
	req, err := admission.Read(strings.NewReader(strings.Replace(labelled, "team", "crew", 1)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := review(req).Encode(req)
	fmt.Println(strings.Contains(string(body), `"allowed":false`), err)
	// Output: true <nil>
}
