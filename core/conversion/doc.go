// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion reads what an API server asks a conversion webhook, and writes the answer.
//
// Use it in the HTTP handler of a custom resource that has several versions. It has the types and the rules, but no server:
// bytes in, bytes out.
// See https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion.
//
//	func handle(w http.ResponseWriter, r *http.Request) {
//		req, err := conversion.Read(r.Body, nil)
//		if err != nil {
//			http.Error(w, err.Error(), http.StatusBadRequest)
//			return
//		}
//		body, err := conversion.Convert(req, func(obj wire.Packed, apiVersion string) (core.Object, error) {
//			switch apiVersion {
//			case "example.com/v2":
//				old := new(v1.Widget)
//				err := obj.Decode(old)
//				return &v2.Widget{ObjectMeta: old.ObjectMeta, …}, err
//			…
//		}).Encode(req)
//		…
//		w.Header().Set("Content-Type", "application/json")
//		w.Write(body)
//	}
//
// # Errors
//
// A review that is not one of apiextensions.k8s.io/v1, or that has a field twice, is an error. When an object can't be
// converted, or has become another one by it, the whole answer is a failure that names the object.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package conversion
