// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd assembles CustomResourceDefinitions.
package crd
