// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/kube-go/sdk/client/internal/plain"
)

func TestLineRemovesControlCharacters(t *testing.T) {
	if got, want := plain.Line(" \x1b[31mred\r\n\tagain \xff\u2028\u202eend\n"), "[31mred again end"; got != want {
		t.Errorf("Line() = %q, want %q", got, want)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b[31mred\r\n\tagain \xff\u2028\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := plain.Line(s)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("Line(%q) = %q", s, got)
		}
	})
}
