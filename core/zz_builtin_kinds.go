// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core
type builtinKind struct { goType string }
func (b builtinKind) resource() Resource { return Resource{} }
var builtinKinds []builtinKind
