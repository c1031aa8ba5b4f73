// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package core is the vocabulary of the SDK: kinds, objects, references, lists and errors, without any IO.
//
// [github.com/kube-go/sdk/core/request] builds the request for a verb with its options, and
// [github.com/kube-go/sdk/core/wire] encodes and decodes objects. Packages patch, managed, admission and conversion
// work with decoded objects. Import core to write code for any kind; programs usually import the facade,
// github.com/kube-go/sdk/kube, instead.
//
//	res, err := core.ResourceOf[corev1.Pod]()      // pods, v1, namespaced: from the generated table
//	ref := core.RefOf(pod)                         // prod/web-0
//	if errors.Is(err, core.ErrNotFound) { … }
//
// # Kinds
//
// A kind K is any struct that embeds metav1.TypeMeta and metav1.ObjectMeta: a type of k8s.io/api, a generated one, a
// kubebuilder-style one, or a lean struct that declares only the fields its author needs. [ResourceOf] returns its
// [Resource]: its names in the API.
//
// # Errors
//
// An error response of the server is a [*StatusError]. It matches the sentinels of this package, such as [ErrNotFound],
// through errors.Is.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package core
