// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package protobuf encodes Go structs as the protobuf messages that Kubernetes makes of them, and decodes them back.
//
// It reads the struct tags that Kubernetes generates its protobuf code from and does what that code does, to the byte,
// without calling it: a method called through an interface is kept by the linker for every type of the program that has
// it, and a program that knows the kinds of k8s.io/api has more than a thousand such types.
//
// Each struct type is looked at once. What comes of that is a plan, which says for each field number where the field
// lies in memory and how its values are written; encoding and decoding follow the plan without reflection, save for
// allocations and for maps of unusual values.
//
// # What a tag means
//
// Of protobuf:"bytes,3,opt,name=phase,casttype=PodPhase" only the number and the name count. How a value is encoded
// follows from its Go type, since that is all Kubernetes' generator looks at; many of the tags in k8s.io/api say rep of
// a string or bytes of an int64. The one exception is a field whose type is a named slice: it is a repeated field when
// its tag says rep, else a message of its own with one repeated field, as metav1.Verbs is.
//
//   - Values are always written, also zeros; pointers, byte slices and named slices unless they are nil; elements of
//     slices and maps one by one, those of maps by ascending key.
//   - A repeated number may come packed, but is written unpacked.
//   - An unknown field is skipped.
//   - metav1.Time, metav1.MicroTime, metav1.FieldsV1 and resource.Quantity have forms of their own, which their own methods know.
//
// A type is supported when nothing of it would be lost: each field has a tag with a number, or does not show in JSON
// either, or is an embedded metav1.TypeMeta, which travels outside of the message.
//
// # Hostile input
//
// Data may be anything. A length is believed only once the data it announces is there, and messages nest at most 100
// deep, which is the limit of protobuf's own C++ and Java libraries and ten times what any kind of k8s.io/api needs.
// What is decoded is a copy and keeps no part of the data alive.
//
// # Concurrency
//
// All functions are safe for concurrent use, as far as the objects they are given are not shared.
package protobuf
