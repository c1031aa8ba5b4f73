// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package protobuf encodes Go structs as the protobuf messages of Kubernetes, and decodes them.
//
// It reads the struct tags from which Kubernetes generates its protobuf code, and produces the same bytes as that code
// without calling it: the linker keeps a method that is called through an interface for every type of the program that
// has it, and a program that knows the kinds of k8s.io/api has more than a thousand such types.
//
// Each struct type is analyzed once. The result is a plan, which has for each field number the offset of the field in
// memory and the encoding of its values. Encoding and decoding follow the plan without reflection, except for
// allocations and for maps of uncommon values.
//
// # What a tag means
//
// In protobuf:"bytes,3,opt,name=phase,casttype=PodPhase", only the number and the name are used. The encoding of a
// value follows from its Go type, which is all that the generator of Kubernetes considers; many tags in k8s.io/api have
// rep for a string or bytes for an int64. The only exception is a field whose type is a named slice: it is a repeated
// field if its tag has rep, and otherwise a message with one repeated field, such as metav1.Verbs.
//
//   - Values are always written, including zeros; pointers, byte slices and named slices unless they are nil; elements
//     of slices and maps one by one, those of maps by ascending key.
//   - A repeated number may be packed in the input, but is written unpacked.
//   - An unknown field is skipped.
//   - metav1.Time, metav1.MicroTime, metav1.FieldsV1 and resource.Quantity have their own encodings, which their
//     methods define.
//   - A runtime.RawExtension with an Object, but without Raw, is encoded with the JSON of the Object as Raw.
//
// A type is supported if encoding it loses nothing: each field has a tag with a number, or is not in JSON either, or is
// an embedded metav1.TypeMeta, which is encoded outside of the message.
//
// # Hostile input
//
// Data may be malicious. Memory for a length is allocated only once the data is there, and messages nest at most 100
// deep, which is the limit of protobuf's C++ and Java libraries and ten times what any kind of k8s.io/api needs.
// Decoded values are copies and keep no part of the data alive. Short strings of an object share memory: a string that
// a caller keeps also keeps up to 128 bytes of other strings.
//
// # Concurrency
//
// All functions are safe for concurrent use, provided that the objects are not shared.
package protobuf
