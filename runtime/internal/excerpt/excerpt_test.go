// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package excerpt_test

import (
	"testing"
	"unicode/utf8"

	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

func TestOfReturnsShortValidUTF8(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{name: "short enough", in: "abcdef", limit: 6, want: "abcdef"},
		{name: "too long", in: "abcdefg", limit: 6, want: "abc…"},
		{name: "not within a rune", in: "aéééé", limit: 7, want: "aé…"},
		{name: "the smallest limit", in: "abcd", limit: 3, want: "…"},
		{name: "invalid bytes are replaced before the length is checked", in: "ab\xffd", limit: 5, want: "ab…"},
		{name: "invalid bytes within the limit", in: "\xff", limit: 5, want: "\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := excerpt.Of(tt.in, tt.limit)
			if got != tt.want || len(got) > tt.limit || !utf8.ValidString(got) {
				t.Errorf("Of(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
			}
		})
	}
}
