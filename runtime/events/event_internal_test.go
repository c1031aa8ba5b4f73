// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEventNamesAreValid(t *testing.T) {
	tests := []struct{ name, of, want string }{
		{name: "the prefix is the object's name", of: "web-0", want: "web-0.00000000000000ff-abcdefgh"},
		{name: "a name that is not a DNS subdomain", of: "system:node", want: "event.00000000000000ff-abcdefgh"},
		{name: "no name", of: "", want: "event.00000000000000ff-abcdefgh"},
		{
			name: "a name that is too long", of: strings.Repeat("a", 253),
			want: strings.Repeat("a", 227) + ".00000000000000ff-abcdefgh",
		},
		{
			name: "a name that is cut at a dot", of: strings.Repeat("a", 226) + ".bcdefghijklmnopqr",
			want: strings.Repeat("a", 226) + ".00000000000000ff-abcdefgh",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := eventName(tt.of, 255, "abcdefgh")
			if got != tt.want {
				t.Errorf("eventName(%q) = %q, want %q", tt.of, got, tt.want)
			}
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("eventName(%q): %v", tt.of, problems)
			}
		})
	}
}

func TestDefaultControllersAreQualifiedNames(t *testing.T) {
	long := strings.Repeat("a", 62)
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	tests := []struct{ name, program, want string }{
		{name: "a valid name", program: "/usr/bin/Shop_1.2-x", want: "Shop_1.2-x"},
		{name: "a name with an invalid start", program: "/tmp/__debug_bin123", want: "debug_bin123"},
		{name: "a name with an invalid end", program: "shop.-", want: "shop"},
		{name: "a name with invalid characters", program: `C:\my shöp.exe`, want: "C--my-sh-p.exe"},
		{name: "a name that is too long", program: long + "bc", want: long + "b"},
		{name: "a name that is cut at a dot", program: long + ".c", want: long},
		{name: "a long name with an invalid start", program: "_" + long + "bc", want: long + "b"},
		{name: "no valid characters", program: "__", want: "controller"},
		{name: "no name", program: "", want: "controller"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			os.Args = []string{tt.program}
			got := NewRecorder(nil, nil).options.Controller
			if got != tt.want {
				t.Errorf("the controller of %q is %q, want %q", tt.program, got, tt.want)
			}
			if problems := validation.IsQualifiedName(got); len(problems) > 0 {
				t.Errorf("the controller of %q is %q: %v", tt.program, got, problems)
			}
		})
	}
}
