// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation says what an API server says of custom resources and of their definitions, without one.
//
// Use it in the tests of a kind: does the definition pass, do its rules refuse what they should, does an update from this
// to that?
//
//	v, err := validation.For[v1.Document](nil)
//	if err != nil {
//		t.Fatal(err) // the definition is wrong
//	}
//	err = v.Create(&v1.Document{Spec: v1.DocumentSpec{Title: strings.Repeat("long ", 20)}})
//	if !errors.Is(err, kube.ErrInvalid) {
//		t.Errorf("Create of a title that is too long = %v", err)
//	}
//	if err := v.Update(renamed, doc); err == nil {
//		t.Error("a document can be renamed")
//	}
//
// # What is checked
//
// [Check] has the rules for definitions: names, versions, structural schemas, defaults, columns, conversion, and rules in
// CEL with what they may cost. A [Validator] does to an object what happens between a request and the store: unknown
// fields, defaults, metadata, the schema with formats and junctors, keys of lists, embedded resources, rules with their
// messages, and on update what may stay as it is although it would not be accepted today. What other objects decide, such
// as quotas, admission webhooks and policies, is not part of it.
//
// Texts, paths and reasons are those of Kubernetes 1.36. Where the server's order is random, ours is that of the names.
//
// # Errors
//
// What a server would answer is a [*core.StatusError] with the same reason, causes and message, so that a test can't tell
// it from an answer. All else is a mistake in how this package is used.
//
// # Weight
//
// CEL is some megabytes. No other public package of this module needs this one at run time but derive/generate; import it
// in tests.
package validation
