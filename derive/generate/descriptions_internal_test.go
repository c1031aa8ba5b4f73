// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"
)

func TestFirstSentence(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"one sentence is kept", "A text.", "A text."},
		{"the second goes", "A text. And more.", "A text."},
		{"a line that ends in the middle of a sentence goes on", "A text\nof lines. And more.", "A text\nof lines."},
		{"a dot inside of a word ends nothing", "A v1.2 text. And more.", "A v1.2 text."},
		{"a paragraph ends one", "A text\n\nAnd more.", "A text"},
		{"other scripts have other ends", "これは文。 そして。", "これは文。"},
		{"nothing is nothing", "", ""},
	} {
		if got := firstSentence(tt.in); got != tt.want {
			t.Errorf("%s: firstSentence(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestAtMost(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		most int
		want string
	}{
		{"what fits is kept", "A text.", 7, "A text."},
		{"what does not ends at a sentence", "A text. And more.", 12, "A text."},
		{"or at a word", "A text of words", 11, "A text..."},
		{"or at a word that just fits", "A text of words", 12, "A text of..."},
		{"or anywhere", "Donaudampfschiff", 8, "Donau..."},
		{"but not inside of a letter", "ääää", 6, "ä..."},
		{"without room for the dots", "ääää", 2, "ä"},
		{"without room for a letter", "ääää", 1, ""},
	} {
		if got := atMost(tt.in, tt.most); got != tt.want {
			t.Errorf("%s: atMost(%q, %d) = %q, want %q", tt.name, tt.in, tt.most, got, tt.want)
		}
		if got := atMost(tt.in, tt.most); len(got) > tt.most {
			t.Errorf("%s: atMost(%q, %d) has %d bytes", tt.name, tt.in, tt.most, len(got))
		}
	}
}
