// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEventNamesAreValid(t *testing.T) {
	tests := []struct{ name, of, want string }{
		{name: "the prefix is the object's name", of: "web-0", want: "web-0.00000000000000ff"},
		{name: "a name that is not a DNS subdomain", of: "system:node", want: "event.00000000000000ff"},
		{name: "no name", of: "", want: "event.00000000000000ff"},
		{name: "a name that is too long", of: strings.Repeat("a", 253), want: strings.Repeat("a", 236) + ".00000000000000ff"},
		{name: "a name that is cut at a dot", of: strings.Repeat("a", 235) + ".bcdefghijklmnopqr", want: strings.Repeat("a", 235) + ".00000000000000ff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := eventName(tt.of, 255)
			if got != tt.want {
				t.Errorf("eventName(%q) = %q, want %q", tt.of, got, tt.want)
			}
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("eventName(%q): %v", tt.of, problems)
			}
		})
	}
}

func TestCutReturnsShortValidUTF8(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{name: "short enough", in: "abcdef", limit: 6, want: "abcdef"},
		{name: "too long", in: "abcdefg", limit: 6, want: "abc…"},
		{name: "not within a rune", in: "aéééé", limit: 7, want: "aé…"},
		{name: "invalid bytes are replaced before the length is checked", in: "ab\xffd", limit: 5, want: "ab…"},
		{name: "invalid bytes within the limit", in: "\xff", limit: 5, want: "\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := cut(tt.in, tt.limit)
			if got != tt.want || len(got) > tt.limit || !utf8.ValidString(got) {
				t.Errorf("cut(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
			}
		})
	}
}
