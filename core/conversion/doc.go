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
//		body, err := conversion.Convert(req, converter.Convert).Encode(req)
//		…
//		w.Header().Set("Content-Type", "application/json")
//		w.Write(body)
//	}
//
// # Converters
//
// A [Converter] knows all versions of a kind. One of them is the hub: usually the newest. For every other version there are
// two functions, up to the hub and down from it, on the Go types; they leave metadata to the converter.
//
//	converter, err := conversion.NewConverter([]conversion.Spoke[v2.Widget]{
//		conversion.Between(v1ToV2, v2ToV1),
//		conversion.Between(v1beta1ToV2, v2ToV1beta1),
//	}, nil)
//
// Package conversiontest tests one with random objects.
//
// # What a version can't say
//
// A field that only one version has is lost when an object is written in another version, even if by somebody who has only
// added a label. Where the versions are meant to hold the same, the missing fields belong into the older one, too. Where
// that can't be, [ConverterOptions.KeepLost] keeps them in an annotation, <group>/conversion-<version>, that is there only
// while something would be lost, and goes when the object is converted back.
//
// Who has changed a field in the other version meanwhile wins: a value comes back only where what it was converted to is
// still there. Items of lists are told apart by name, type or key, or else by what is in them. Whoever may write an object
// may write the annotation: the values that come back have been validated when they were written first, but nobody validates
// them again. What is more than [ConverterOptions.MaxLostBytes] is an error of the conversion, so bound what people may
// write. It costs one more conversion each time, to see what comes back.
//
// # Errors
//
// A review that is not one of apiextensions.k8s.io/v1, or that has a field twice, is an error. When an object can't be
// converted, or has become another one by it, the whole answer is a failure that names the object.
//
// # Concurrency
//
// Everything here is a plain value, and a [Converter] does not change. Functions may be called from many goroutines at once.
package conversion
