// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is version v1 of the API group db.example.com. Its kind is Database.
package v1

//go:generate go tool kube-derive
