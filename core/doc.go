// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package core is the vocabulary of the SDK: kinds, objects, references, lists and errors, without any IO.
//
// Its two sub-packages are the wire format: [github.com/kube-go/sdk/core/request] turns a verb with its options into
// a request value, [github.com/kube-go/sdk/core/wire] turns bytes into objects and back. Import core when you write
// code that works for any kind; programs usually import the facade, github.com/kube-go/sdk/kube, instead.
//
//	res, err := core.ResourceOf[corev1.Pod]()      // pods, v1, namespaced: from the generated table
//	ref := core.RefOf(pod)                         // prod/web-0
//	if errors.Is(err, core.ErrNotFound) { … }
//
// # What a kind is
//
// A kind K is any struct that embeds metav1.TypeMeta and metav1.ObjectMeta: a type of k8s.io/api, a generated one, a
// kubebuilder-style one, or a lean struct that declares only the fields its author needs. What it is called on the
// wire is a [Resource], found by [ResourceOf].
//
// # Errors
//
// An answer of the server that is not a success is a [*StatusError]; it matches the sentinels of this package, such as
// [ErrNotFound], through errors.Is.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package core
