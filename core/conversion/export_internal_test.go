// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

// RestoreList is restoreList.
func RestoreList(now, was, is []any) []any { return restoreList(now, was, is) }
