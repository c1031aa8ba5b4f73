// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// described is a schema with a description.
type described struct {
	schema *structural.Schema
	depth  int
}

// limit shortens the descriptions of a definition according to the options.
func (r *run) limit(c *crd.CRD, versions []crd.Version) {
	var list []described
	for _, v := range versions {
		list = collect(v.Schema, 0, false, list)
	}
	for _, d := range list {
		switch most := r.opts.MaxDescriptionBytes; {
		case most < 0:
			d.schema.Description = ""
		case most > 0:
			d.schema.Description = atMost(d.schema.Description, most)
		}
	}
	if r.opts.MaxBytes <= 0 {
		return
	}
	size, err := r.fit(c, list)
	if err == nil && size > r.opts.MaxBytes {
		err = fmt.Errorf("%s has %d bytes even without the descriptions that may be removed, and the limit is %d", c.FileName(), size, r.opts.MaxBytes)
	}
	if err != nil {
		r.problems.add(versions[0].Pos, err.Error())
	}
}

// fit shortens descriptions until the definition is small enough, and returns its size.
func (r *run) fit(c *crd.CRD, list []described) (int, error) {
	deepest := 0
	for _, d := range list {
		deepest = max(deepest, d.depth)
	}
	body, err := c.Compact()
	for _, shorten := range []func(string) string{firstSentence, func(string) string { return "" }} {
		for depth := deepest; depth >= 0 && err == nil && len(body) > r.opts.MaxBytes; depth-- {
			for _, d := range list {
				if d.depth == depth {
					d.schema.Description = shorten(d.schema.Description)
				}
			}
			body, err = c.Compact()
		}
	}
	return len(body), err
}

// collect collects the descriptions that may be shortened, with their depth. It removes those in fields with the marker
// drop.
func collect(s *structural.Schema, depth int, drop bool, list []described) []described {
	if s == nil {
		return list
	}
	switch {
	case drop && s.Descriptions != structural.DescriptionsKeep:
		s.Description = ""
	case s.Description != "" && s.Descriptions != structural.DescriptionsKeep:
		list = append(list, described{s, depth})
	}
	drop = drop || s.Descriptions == structural.DescriptionsDrop
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = collect(s.Properties[name], depth+1, drop, list)
	}
	list = collect(s.Items, depth+1, drop, list)
	return collect(s.AdditionalProperties, depth+1, drop, list)
}

// atMost shortens a text to a number of bytes, at the end of a sentence, or of a word.
func atMost(text string, most int) string {
	if len(text) <= most {
		return text
	}
	begin := whole(text, most)
	if i := strings.LastIndexFunc(begin, endsSentence); i > 0 {
		_, width := utf8.DecodeRuneInString(begin[i:])
		return begin[:i+width]
	}
	const dots = "..."
	if most < len(dots) {
		return begin
	}
	end := len(whole(text, most-len(dots)))
	if i := strings.LastIndexFunc(text[:end+1], unicode.IsSpace); i > 0 {
		end = i
	}
	return text[:end] + dots
}

// whole returns the first letters of a longer text that have at most the given number of bytes.
func whole(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func endsSentence(r rune) bool { return unicode.Is(unicode.STerm, r) }

// firstSentence returns the first sentence of a text, or its first paragraph.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if endsSentence(r) && next < len(text) && unicode.IsSpace(rune(text[next])) {
			return text[:next]
		}
	}
	return text
}
