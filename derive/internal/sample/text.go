// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// textOf returns a string with the format, the pattern or the length of a schema.
func textOf(s *openapi.Schema, variant int) string {
	pattern, err := regexp.Compile(s.Pattern)
	if err == nil {
		if text, ok := formatted(strings.ReplaceAll(s.Format, "-", ""), variant); ok && fits(s, pattern, text) {
			return text
		}
		if s.Pattern != "" {
			if text, ok := matching(s, pattern, variant); ok {
				return text
			}
		}
	}
	return sized(s, word(variant))
}

// sized changes the length of a string to fit the bounds.
func sized(s *openapi.Schema, text string) string {
	if s.MinLength != nil {
		for int64(len(text)) < min(*s.MinLength, 1<<16) {
			text += "x"
		}
	}
	if s.MaxLength != nil && int64(len(text)) > *s.MaxLength {
		text = text[int64(len(text))-max(0, *s.MaxLength):]
	}
	return text
}

// fits reports whether a string has a valid length and matches the pattern.
func fits(s *openapi.Schema, pattern *regexp.Regexp, text string) bool {
	n := int64(utf8.RuneCountInString(text))
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return false
	}
	return pattern.MatchString(text)
}

// formatted returns a string with a format.
func formatted(format string, variant int) (string, bool) {
	n := variant % 250
	strs := map[string]string{
		"bsonobjectid": fmt.Sprintf("507f1f77bcf86cd7994390%02x", n),
		"uri":          "https://example.com/" + word(variant),
		"email":        word(variant) + "@example.com",
		"hostname":     word(variant) + ".example.com",
		"ipv4":         fmt.Sprintf("192.0.2.%d", n+1),
		"ipv6":         fmt.Sprintf("2001:db8::%x", n+1),
		"cidr":         fmt.Sprintf("10.%d.0.0/16", n),
		"mac":          fmt.Sprintf("00:00:5e:00:53:%02x", n),
		"uuid":         fmt.Sprintf("123e4567-e89b-12d3-a456-4266141740%02x", n),
		"uuid3":        fmt.Sprintf("123e4567-e89b-32d3-a456-4266141740%02x", n),
		"uuid4":        fmt.Sprintf("123e4567-e89b-42d3-a456-4266141740%02x", n),
		"uuid5":        fmt.Sprintf("123e4567-e89b-52d3-a456-4266141740%02x", n),
		"isbn":         "978-0321751041",
		"isbn10":       "0321751043",
		"isbn13":       "978-0321751041",
		"creditcard":   "4111111111111111",
		"ssn":          fmt.Sprintf("111-22-3%03d", n),
		"hexcolor":     fmt.Sprintf("#0000%02x", n),
		"rgbcolor":     fmt.Sprintf("rgb(0,0,%d)", n),
		"byte":         []string{"ZXhhbXBsZQ==", "YW5vdGhlcg==", "dGhpcmQ="}[variant%3],
		"date":         fmt.Sprintf("2024-01-%02d", n%28+1),
		"datetime":     fmt.Sprintf("2024-01-01T00:%02d:00Z", n%60),
		"duration":     fmt.Sprintf("%dm0s", n+10),
		"k8sshortname": word(variant),
		"k8slongname":  word(variant) + ".example.com",
	}
	text, ok := strs[format]
	return text, ok
}

// matching returns a short string that matches a pattern.
func matching(s *openapi.Schema, pattern *regexp.Regexp, variant int) (string, bool) {
	re, err := syntax.Parse(s.Pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	for repeat := range 300 {
		for shift := range 4 {
			w := &writer{variant: variant + shift, repeat: repeat}
			w.write(re)
			text := w.b.String()
			if fits(s, pattern, text) {
				return text, true
			}
			if padded := sized(s, text); fits(s, pattern, padded) {
				return padded, true
			}
		}
	}
	return "", false
}

// writer writes a string that a regular expression matches, with a given number of optional repetitions.
type writer struct {
	b       strings.Builder
	variant int
	repeat  int
}

// maxText is the maximum length of a string.
const maxText = 1 << 16

func (w *writer) write(re *syntax.Regexp) {
	if w.b.Len() > maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.b.WriteRune(r)
		}
	case syntax.OpCharClass:
		w.b.WriteRune(w.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[w.variant%len(re.Sub)])
	case syntax.OpStar:
		w.times(re.Sub[0], w.repeat)
	case syntax.OpPlus:
		w.times(re.Sub[0], max(1, w.repeat))
	case syntax.OpQuest:
		w.times(re.Sub[0], min(1, w.repeat))
	case syntax.OpRepeat:
		n := max(re.Min, w.repeat)
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		w.times(re.Sub[0], n)
	default: // anchors, and expressions that never match
	}
}

func (w *writer) times(re *syntax.Regexp, n int) {
	for range n {
		w.write(re)
	}
}

// pick returns a character of a class, which is a letter or a digit if possible.
func (w *writer) pick(ranges []rune) rune {
	var good []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for _, r := range "aexmplbcdfghijknoqrstuvwyzAEXMPL0123456789" {
			if r >= ranges[i] && r <= ranges[i+1] {
				good = append(good, r)
			}
		}
	}
	if len(good) > 0 {
		return good[w.variant%len(good)]
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] >= ' ' {
			return ranges[i]
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'x'
}
