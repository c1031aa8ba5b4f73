// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDefinitionIsEstablishedWhileItsNewNamesAreRefused(t *testing.T) {
	condition := func(name, status, reason, message string) any {
		return map[string]any{"type": name, "status": status, "reason": reason, "message": message}
	}
	for _, tt := range []struct {
		name string
		in   []any
		want string
	}{
		{"served", []any{condition("Established", "True", "", "")}, ""},
		{
			"served under the old names, while new names are refused",
			[]any{condition("Established", "True", "", ""), condition("NamesAccepted", "False", "KindConflict", "")},
			"",
		},
		{"new", nil, "condition Established is missing"},
		{
			"being installed",
			[]any{condition("NamesAccepted", "True", "", ""), condition("Established", "False", "Installing", "")},
			"condition Established is False: Installing",
		},
		{
			"names in use",
			[]any{
				condition("Established", "False", "NotAccepted", ""),
				condition("NamesAccepted", "False", "KindConflict", "is already in use"),
			},
			"condition NamesAccepted is False: KindConflict: is already in use",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			crd := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": tt.in}}}
			got := ""
			if err := established(crd); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("established() = %q, want %q", got, tt.want)
			}
		})
	}
}
