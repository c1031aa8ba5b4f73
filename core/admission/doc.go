// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission decodes the requests of API servers to admission webhooks, and encodes the responses.
//
// Use it in the HTTP handler of a webhook. It has the types and the rules, and does no IO. Consider a
// ValidatingAdmissionPolicy first, which needs no webhook.
// See https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
//
//	func handle(w http.ResponseWriter, r *http.Request) {
//		body, err := respond(r.Body)
//		…
//		w.Header().Set("Content-Type", "application/json")
//		w.Write(body)
//	}
//
//	func respond(body io.Reader) ([]byte, error) {
//		req, err := admission.Read(body, nil)
//		if err == nil {
//			return review(req).Encode(req)
//		}
//		invalid, ok := errors.AsType[*admission.ReviewError](err)
//		if !ok {
//			invalid = &admission.ReviewError{Err: err} // the UID of the review can't be read
//		}
//		return invalid.Encode(http.StatusBadRequest)
//	}
//
//	func review(req *admission.Request) *admission.Response {
//		pod := new(corev1.Pod)
//		if err := req.Object.Decode(pod); err != nil {
//			return admission.Errored(err)
//		}
//		if pod.Labels["team"] == "" {
//			return admission.Denied("metadata.labels.team: is missing; name the team that runs the pod")
//		}
//		pod.Spec.PriorityClassName = "team-" + pod.Labels["team"]
//		return admission.Patched(req, pod)
//	}
//
// # Errors
//
// [Read] returns an error for a review that is not of admission.k8s.io/v1 or has a duplicate field. The response to it
// is the review of [ReviewError.Encode], since a server does not show the text of a response whose HTTP status is not
// 200. [Response.Encode] returns an error for a response that the server would not honor.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package admission
