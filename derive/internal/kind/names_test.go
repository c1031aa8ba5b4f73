// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"testing"

	"github.com/kube-go/sdk/derive/internal/kind"
)

func TestPluralize(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Document", "documents"},
		{"ingress", "ingresses"},
		{"box", "boxes"},
		{"quartz", "quartzes"},
		{"batch", "batches"},
		{"mesh", "meshes"},
		{"networkpolicy", "networkpolicies"},
		{"gateway", "gateways"},
		{"y", "ys"},
	} {
		if got := kind.Pluralize(tt.in); got != tt.want {
			t.Errorf("Pluralize(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
