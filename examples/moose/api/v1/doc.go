// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is version v1 of the API group animals.example.com. Its only kind is Moose.
package v1

//go:generate go tool kube-derive
//go:generate go tool kube-derive docs --out ../../docs
