// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion decodes the requests of API servers to conversion webhooks, and encodes the responses.
//
// Use it in the HTTP handler of a custom resource with several versions. It has the types and the rules, and does no
// IO. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion.
//
//	func handle(w http.ResponseWriter, r *http.Request) {
//		body, err := respond(r.Body)
//		…
//		w.Header().Set("Content-Type", "application/json")
//		w.Write(body)
//	}
//
//	func respond(body io.Reader) ([]byte, error) {
//		req, err := conversion.Read(body, nil)
//		if err == nil {
//			return conversion.Convert(req, converter.Convert).Encode(req)
//		}
//		invalid, ok := errors.AsType[*conversion.ReviewError](err)
//		if !ok {
//			invalid = &conversion.ReviewError{Err: err} // the UID of the review can't be read
//		}
//		return invalid.Encode()
//	}
//
// # Converters
//
// A [Converter] converts between all versions of a kind. One of them is the hub, usually the newest. Each other version
// has two functions on the Go types, up to the hub and down from it. The converter copies the metadata.
//
//	converter, err := conversion.NewConverter([]conversion.Spoke[v2.Widget]{
//		conversion.Between(v1ToV2, v2ToV1),
//		conversion.Between(v1beta1ToV2, v2ToV1beta1),
//	}, nil)
//
// Package conversiontest tests a converter with random objects.
//
// # Fields that a version lacks
//
// A field that only one version has is lost when an object is written in another version, even by a client that only
// adds a label. Add the field to all versions if possible. Otherwise, [ConverterOptions.KeepLost] stores such fields in
// the annotation <group>/conversion-<version>, which is removed when the object is converted back.
//
// Changes in the other version win: a stored value is restored only where the converted value has not changed. Items of
// lists are matched by name, type or key, or by their content otherwise, and may move. An item that the other version
// can't represent is added at the end, unless the list has an item with the same name or value by then. A user that may
// write an object may also write the annotation. The values were validated when they were first written, but are not
// validated again. The conversion fails if the fields take more than [ConverterOptions.MaxLostBytes], so bound the size
// of such fields in the schema. Finding them costs one more conversion each time.
//
// # Errors
//
// [Read] returns an error for a review that is not of apiextensions.k8s.io/v1 or has a duplicate field. The response to
// it is the review of [ReviewError.Encode], since a server does not show the text of a response whose HTTP status
// is not 200. If the conversion of one object fails, or changes its identity, the whole response is a failure that
// names the object.
//
// # Concurrency
//
// All types are plain values, and a [Converter] is immutable. Functions may be called from many goroutines at once.
package conversion
