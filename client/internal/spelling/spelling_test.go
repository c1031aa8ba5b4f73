// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package spelling_test

import (
	"testing"

	"github.com/kube-go/sdk/client/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"pods", "pods", 0},
		{"", "pods", 4},
		{"pods", "", 4},
		{"pod", "pods", 1},
		{"podss", "pods", 1},
		{"pids", "pods", 1},
		{"pdos", "pods", 1},
		{"opds", "podz", 2},
		{"nodes", "pods", 2},
	} {
		if got := spelling.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
