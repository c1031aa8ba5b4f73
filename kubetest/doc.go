// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubetest starts an in-memory API server for the unit tests of controllers and other programs that use a
// Kubernetes API.
//
//	func TestReconcile(t *testing.T) {
//		s := kubetest.Start(t, &kubetest.Options{
//			Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.Document]},
//			Objects:     []core.Object{doc},
//		})
//		c := s.Client(nil)
//		…
//	}
//
// Clients use HTTP through connections in memory. So a test starts in milliseconds, and works in the bubbles of package
// testing/synctest, where hours pass at once.
//
// # What the server does
//
// It serves all verbs, the kinds that Kubernetes 1.36 has by default, and the kinds of the CustomResourceDefinitions that it
// stores. Requests have the effects and errors of a real server: versions and conflicts, generations, finalizers,
// server-side apply with managed fields, the other types of patches, dry runs, the subresources status and scale,
// selectors, pages, and watches with bookmarks and streaming lists. Custom resources are validated, defaulted and pruned
// by their schemas and CEL rules. Deleted owners, namespaces and definitions take their dependents with them, at once.
// The tests of package conformance pass with this server and with a real one.
//
// # What it does not do
//
// No controllers and no kubelet run: a Deployment has no pods, and pods do not start. Write the status that a test needs
// with a client, such as that of a PodDisruptionBudget, which limits evictions. Objects of built-in kinds get defaults, and
// are checked for unknown fields, wrong types and their metadata, but other rules of their kinds are not checked.
// Everything is permitted to every user. There are no admission or conversion webhooks, no logs of and streams to
// containers, and no tables. A request for something that the server does not have is an error. For tests of these, use a
// real cluster, such as that of tests/cluster.
//
// # Faults
//
// To fail or delay requests, give the client a middleware: see [client.Options]. Methods of [Server] make watches lag,
// expire and break.
package kubetest
