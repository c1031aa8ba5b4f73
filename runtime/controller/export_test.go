// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "github.com/kube-go/sdk/runtime/cache"

// ForFeed is ForView for a view that a test has changed.
func ForFeed[K any](f feed) Primary[K] { return Primary[K]{inputs: changed(f)} }

// SourceFeed is SourceView for a view that a test has changed.
func SourceFeed[K any](f feed) Secondary[K] { return Secondary[K]{inputs: changed(f)} }

func changed(f feed) []input {
	return []input{{f, func(*cache.Cache) feed { return f }}}
}
