// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package suggest_test

import (
	"testing"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

func TestNearest(t *testing.T) {
	words := []string{"name", "namespace", "replicas", "replication", "x"}
	for _, tt := range []struct{ in, want string }{
		{"nam", "name"},
		{"NAME", "name"},
		{"namepsace", "namespace"},
		{"replica", "replicas"},
		{"rep", "replicas"}, // the shortest with this prefix
		{"re", ""},
		{"status", ""},
		{"y", "x"}, // all words of one letter are similar
	} {
		if got := suggest.Nearest(tt.in, words); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := suggest.Nearest("a", nil); got != "" {
		t.Errorf("Nearest without candidates = %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "ab", 1},
		{"abc", "acb", 1},
		{"abcd", "badc", 2},
		{"kitten", "sitting", 3},
	} {
		if got := suggest.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := suggest.Distance(tt.b, tt.a); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}
