// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates custom resources and their definitions as an API server does, without a server.
//
// Use it in the tests of a kind, to check that its definition is valid, and that its rules reject invalid objects and
// updates:
//
//	v, err := validation.For[v1.Document](nil)
//	if err != nil {
//		t.Fatal(err) // the definition is invalid
//	}
//	err = v.Create(&v1.Document{Spec: v1.DocumentSpec{Title: strings.Repeat("long ", 20)}})
//	if !errors.Is(err, kube.ErrInvalid) {
//		t.Errorf("Create of a title that is too long = %v", err)
//	}
//	if err := v.Update(renamed, doc); err == nil {
//		t.Error("a document can be renamed")
//	}
//
// # Scope
//
// [Check] validates definitions: names, versions, structural schemas, defaults, columns, conversion, and CEL rules with
// their cost limits. A [Validator] processes objects as the server does between the request and the store: unknown
// fields, defaults, metadata, the schema with formats and logical junctors, keys of lists, embedded resources, CEL
// rules with their messages, and, for updates, ratcheting: values that are invalid but unchanged are accepted. Checks
// that depend on other objects, such as quotas, admission webhooks and policies, are not included.
//
// Messages, paths and reasons are those of Kubernetes 1.37. Where the server reports errors in random order, this
// package sorts them by name.
//
// # Errors
//
// Validation errors are [*core.StatusError] values with the reason, causes and message of the server's response. All
// other errors are caused by incorrect use of this package.
//
// # Size
//
// CEL adds several megabytes to a binary. Import this package in tests only. Among the public packages of this module,
// only derive/generate imports it.
package validation
