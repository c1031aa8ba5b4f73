// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package controller_test

const underRace = true
