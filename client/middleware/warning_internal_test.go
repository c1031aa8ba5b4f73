// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestParseWarnings(t *testing.T) {
	one := func(text string) []Warning {
		return []Warning{{Code: 299, Agent: "-", Text: text}}
	}
	for _, tc := range []struct {
		name string
		in   []string
		want []Warning
	}{
		{"no warning", nil, nil},
		{"a warning", []string{`299 - "v1 Endpoints is deprecated"`}, one("v1 Endpoints is deprecated")},
		{"an empty text", []string{`299 - ""`}, one("")},
		{"quotes and backslashes", []string{`299 - "unknown field \"a\\b\""`}, one(`unknown field "a\b"`)},
		{"a date", []string{`299 - "old" "Sat, 21 Nov 2026 12:00:00 GMT"`}, one("old")},
		{"surrounding spaces", []string{"  299 - \"old\"  "}, one("old")},
		{"commas in the text", []string{`299 - "a, b"`}, one("a, b")},
		{"control characters", []string{"299 - \"\x1b[31mred\x07\u0085\""}, one("[31mred")},
		{"invalid UTF-8", []string{"299 - \"a\xffb\""}, one("ab")},
		{
			"several in a line, with and without dates",
			[]string{`299 - "a" "Sat, 21 Nov 2026 12:00:00 GMT",299 kube "b" , 112 host:80 "c"`},
			[]Warning{{299, "-", "a"}, {299, "kube", "b"}, {112, "host:80", "c"}},
		},
		{
			"several lines, one of them malformed",
			[]string{`299 - "a"`, `nonsense`, `299 - "b", 299 - c`},
			append(one("a"), one("b")...),
		},
		{"a text without an end", []string{`299 - "a`}, nil},
		{"a backslash at the end", []string{`299 - "a\`}, nil},
		{"a date without an end", []string{`299 - "a" "Sat`}, nil},
		{"a missing code", []string{`- "a"`}, nil},
		{"a code that is too long", []string{`0299 - "a"`}, nil},
		{"a missing agent", []string{`299  "a"`}, nil},
		{"a missing text", []string{`299 - `}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseWarnings(http.Header{"Warning": tc.in})); diff != "" {
				t.Errorf("parseWarnings(%q) (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

// TestWarningBounds checks that the number and the size of warnings are limited.
func TestWarningBounds(t *testing.T) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = `299 - "` + strings.Repeat("x", 10<<10) + `", 299 - "y"`
	}
	got := parseWarnings(http.Header{"Warning": lines})
	if len(got) != 64 || len(got[0].Text) != 4<<10 {
		t.Errorf("%d warnings, the first of %d bytes; want 64 of at most 4096", len(got), len(got[0].Text))
	}
}

func FuzzParseWarnings(f *testing.F) {
	for _, s := range []string{
		"", `299 - "a"`, `299 - "a\"" "date", 299 - "b"`, `299 - "`, "299 - \"\x1b\xff\"",
		`299 - "a",`, `299 - "a" "`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, w := range parseWarnings(http.Header{"Warning": {line}}) {
			if w.Code < 0 || w.Code > 999 || w.Agent == "" || len(w.Text) > len(line) ||
				strings.ContainsFunc(w.Text, unicode.IsControl) {
				t.Errorf("parseWarnings(%q) = %+v", line, w)
			}
			again := http.Header{"Warning": {`299 - "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w.Text) + `"`}}
			if got := parseWarnings(again); len(got) != 1 || got[0].Text != w.Text {
				t.Errorf("%q encoded and parsed again is %+v", w.Text, got)
			}
		}
	})
}
