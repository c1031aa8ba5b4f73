// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	patternTries  = 1000
	patternRepeat = 8 // how many more times than necessary a part of a pattern repeats
)

// matching returns a random string that satisfies the pattern and the length of a schema. It reports whether it has
// found one.
func (f *filler) matching(s *schema) (string, bool) {
	tree, err := syntax.Parse(s.Pattern.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	least, most := 0, -1
	if s.MinLength != nil {
		least = *s.MinLength
	}
	if s.MaxLength != nil {
		most = *s.MaxLength
	}
	for range patternTries {
		var b strings.Builder
		f.match(&b, tree, patternRepeat+least)
		text := b.String()
		n := utf8.RuneCountInString(text)
		// The tree does not decide: a match may also depend on anchors inside the pattern.
		if n >= least && (most < 0 || n <= most) && s.Pattern.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// match writes a random match of a pattern. What repeats without a limit does so at most more times than necessary.
func (f *filler) match(b *strings.Builder, re *syntax.Regexp, more int) {
	const maxBytes = 4096 // of nested repetitions
	least, most := 1, 1
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
		return
	case syntax.OpCharClass:
		b.WriteRune(f.oneOf(re.Rune))
		return
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(f.oneOf([]rune{'a', 'z'}))
		return
	case syntax.OpAlternate:
		f.match(b, re.Sub[f.rand.IntN(len(re.Sub))], more)
		return
	case syntax.OpQuest:
		least = 0
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		most = -1
	case syntax.OpRepeat:
		least, most = re.Min, re.Max
	default: // a sequence, a group, or an anchor
	}
	if most < 0 {
		most = least + more
	}
	for range least + f.rand.IntN(most-least+1) {
		for _, sub := range re.Sub {
			if b.Len() < maxBytes {
				f.match(b, sub, more)
			}
		}
	}
}

// oneOf returns a random character of ranges, which are pairs of a first and a last one. It prefers printable ASCII.
func (f *filler) oneOf(ranges []rune) rune {
	var printable []rune
	for i := 0; i < len(ranges); i += 2 {
		for r := max(ranges[i], ' '); r <= min(ranges[i+1], '~'); r++ {
			printable = append(printable, r)
		}
	}
	if len(printable) > 0 {
		return printable[f.rand.IntN(len(printable))]
	}
	return ranges[0]
}
