// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import "testing"

func TestKindsHaveTypes(t *testing.T) {
	for _, k := range newKinds(nil).builtin {
		if !k.typed() && !k.isDefinition() {
			t.Errorf("%s has no Go type", k.GroupVersionKind())
		}
	}
}
