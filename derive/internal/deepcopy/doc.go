// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package deepcopy writes methods for deep copies.
//
// The methods are those of deepcopy-gen: nil stays nil, empty stays empty, and a type with its own method is copied by
// this method.
package deepcopy
