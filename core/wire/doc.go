// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire turns bytes of an API server into objects and back.
//
// Use it to write a client, a cache or a test server; everything that encodes or decodes in this SDK goes through it,
// so an engine changes in one place. It knows two encodings, [JSON] and [Protobuf], chosen by content type.
//
//	meta, err := wire.ReadList(body, contentType, nil, func(item wire.Packed) error {
//		pod := new(corev1.Pod)
//		err := item.Decode(pod)
//		…
//	})
//
// # Packed objects
//
// List and watch streams yield [Packed] objects: the object's own bytes, not decoded. An item is read off the stream
// one at a time, in bounded memory; a whole list is never in memory. The caller decodes what it needs: [Packed.Decode]
// decodes the whole object, [Packed.Metadata] only its metadata. [Packed.Compact] returns a copy that owns its bytes
// and has no managedFields, as caches keep it.
//
// An object that can't be decoded does not end the stream. [Packed.ItemError] identifies it.
//
// # JSON
//
// JSON is read and written by the rules of encoding/json, for which the Kubernetes types were written, with the two
// exceptions that API servers make as well: field names match by exact case, and integers in empty interfaces are
// int64. Quantities are bounded, since parsing a malicious one can take hours.
//
// Use [UnmarshalStrict] for objects that people write: it reports all unknown, miscased and duplicate fields at once.
// [Documents] reads files of YAML or JSON object by object, and its errors have the line of the mistake.
//
// # Protobuf
//
// The kinds of k8s.io/api have a protobuf encoding, an envelope around one message:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding. This package parses the envelope,
// lists and watch frames without decoding the objects in them. Messages are encoded and decoded by the struct tags of
// the kinds. The generated code is not called: a call through an interface makes the linker keep the code of every kind
// in a package, which was a tenth of a controller's binary.
//
// # Errors
//
// The error for a value that does not fit its field has the path of the field, such as spec.replicas. It never quotes
// strings of the object, which may be secret. So it leaves out the error of a type with a decoder of its own.
//
// The error for a body that ends early, for example because the connection breaks, matches io.ErrUnexpectedEOF, so such
// a body is never taken for a shorter list or the end of a watch. A body that exceeds [Limits] is a [*TooLargeError],
// an ERROR event of a watch is a core.StatusError, and a list or event of an unexpected kind is a [*KindError].
//
// # Concurrency
//
// Functions may be called from many goroutines at once. A Packed value is immutable; see [Packed] for how long its
// bytes are valid when it was read from a stream.
package wire
