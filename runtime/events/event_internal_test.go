// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"
	"testing"

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
