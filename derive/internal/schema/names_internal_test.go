// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "testing"

func TestRulesEscapeTheNamesThatCELReserves(t *testing.T) {
	for name, want := range map[string]string{
		"namespace": "__namespace__",
		"var":       "__var__",
		"void":      "__void__",
		"while":     "__while__",
		"a-b.c":     "a__dash__b__dot__c",
		"a__b":      "a__underscores__b",
		"a$":        "a$", // which no rule can spell
	} {
		if got := celName(name); got != want {
			t.Errorf("celName(%q) = %q, want %q", name, got, want)
		}
	}
}
