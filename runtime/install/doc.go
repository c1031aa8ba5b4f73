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
// When [CRDs] returns without an error, the kinds can be read, written and watched.
//
// # Downgrades
//
// An old program that starts beside a new one must not take the new one's fields away: the server would drop their
// values from every object that is written next. A definition that has less than the installed one is therefore refused
// with a [*DowngradeError] that says what would be lost, before anything is written. [Options.AllowDowngrade] is for those
// who have removed something on purpose.
//
// # Permissions
//
// The program needs the verbs get, list, watch and patch on customresourcedefinitions of apiextensions.k8s.io, and list
// and watch on the kinds that they define.
//
// # Concurrency
//
// [CRDs] may be called from many goroutines, and by many programs, at once: definitions are applied only on top of what
// was looked at.
package install
