// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package image

var platform system = copied{}
