// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package excerpt shortens texts, such as those of errors, to a maximum number of bytes.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Of returns s as valid UTF-8. If that has more than limit bytes, it returns its beginning and "…", together at most
// limit bytes. The limit is at least 3. The result may share the memory of s.
func Of(s string, limit int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= limit {
		return s
	}
	const more = "…"
	end := limit - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}
