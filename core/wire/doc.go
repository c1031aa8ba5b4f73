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
// one at a time, in bounded memory; no list is ever held. What is wanted of it is decoded when it is wanted:
// [Packed.Decode] makes a whole object, [Packed.Metadata] only the metadata, and [Packed.Compact] an owned copy without
// managedFields, which is what a cache keeps.
//
// An object that can't be decoded is a matter of its own: the stream goes on, and [Packed.ItemError] says which it was.
//
// # JSON
//
// JSON is read and written with the rules of encoding/json, since the Kubernetes types were written for them, with two
// differences that the API server makes too: field names match by exact case, and integers in empty interfaces are int64.
// Quantities are bounded, as reading one may take hours.
//
// What people write is better read by [UnmarshalStrict], which reports names that are unknown, miscased or given twice,
// all at once. [Documents] reads files of YAML or JSON, object by object, with the line of each mistake.
//
// # Protobuf
//
// The kinds of k8s.io/api have a protobuf encoding, an envelope around one message:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding.
// The envelope, the lists and the watch frames are taken apart here without decoding what they carry. Messages are
// encoded and decoded by the struct tags of the kinds. Their generated code is not called: a call through an interface
// makes the linker keep it for every kind of a package, which was a tenth of a controller's binary.
//
// # Errors
//
// A value that does not fit its field is an error with the field's path, such as spec.replicas, but without any text of the
// object, which may be a secret.
//
// A body that ends early, as when the connection breaks, is an error that matches io.ErrUnexpectedEOF; it never looks like
// a shorter list or the end of a watch. What is larger than [Limits] allow is a [*TooLargeError]. An ERROR event of a watch
// is a core.StatusError. A list or an event of another kind than the wanted one is a [*KindError].
//
// # Concurrency
//
// Functions may be called from many goroutines at once. A Packed value is immutable; see [Packed] for how long the
// bytes of one that came off a stream live.
package wire
