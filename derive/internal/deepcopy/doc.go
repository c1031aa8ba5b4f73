// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package deepcopy writes the methods that copy a value with all that it refers to.
//
// The methods are those that the Kubernetes generator writes: nil stays nil, empty stays empty, and what has a deep copy
// of its own is copied by it.
package deepcopy
