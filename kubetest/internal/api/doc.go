// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package api serves the API of Kubernetes over HTTP, from a store in memory.
//
// A request becomes a call. A call that writes opens a transaction of the store with a write, which checks and
// completes the object, and settles what follows from a deletion.
package api
