// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package install puts the CustomResourceDefinitions that a program needs onto a server.
//
// Use it in controllers that bring their own definitions, and in tests. Whoever deploys definitions by other means needs
// nothing of it.
//
//	crd, err := core.CRD[v1.Document]()
//	if err != nil {
//		return err
//	}
//	if err := install.CRDs(ctx, c, []*unstructured.Unstructured{crd}, nil); err != nil {
//		return err
//	}
//
// When [CRDs] returns without an error, the kinds can be read, written and watched; those that a webhook converts, once
// the webhook does so.
//
// # Downgrades
//
// An old program that starts beside a new one must not take the new one's fields away: the server would drop their
// values from every object that is written next. A definition that has less than the installed one is therefore refused
// with a [*DowngradeError] that says what would be lost, before anything is written: versions, fields, values of enums,
// subresources, selectable fields, and conversion. [Options.AllowDowngrade] is for those who have removed something on
// purpose.
//
// While a new version of a program is rolled out, the old one may be started again. It can go on with the newer
// definition, which as a rule has all that it knows:
//
//	err := install.CRDs(ctx, c, crds, nil)
//	if _, newer := errors.AsType[*install.DowngradeError](err); err != nil && !newer {
//		return err
//	}
//
// # Permissions
//
// The program needs the verbs get, list, watch, create and patch on customresourcedefinitions of apiextensions.k8s.io, and
// list and watch on the kinds that they define.
//
// # Concurrency
//
// [CRDs] may be called from many goroutines, and by many programs, at once: definitions are applied only on top of what
// was looked at.
package install
