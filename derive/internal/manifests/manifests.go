// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// Render returns an object as YAML. With comments, the object and its fields have their descriptions.
func Render(object map[string]any, s *structural.Schema, comments bool) ([]byte, error) {
	r := &renderer{comments: comments}
	r.comment(s, "")
	for _, name := range order(object) {
		p := s.Properties[name]
		if name == "apiVersion" || name == "kind" || name == "metadata" {
			p = nil // they need no description
		}
		r.member(name, object[name], p, "")
	}
	return []byte(r.out.String()), r.err
}

// renderer writes YAML.
type renderer struct {
	out      strings.Builder
	comments bool
	err      error
}

// order returns the names of the fields of an object: first those that identify it, then the others, sorted.
func order(object map[string]any) []string {
	rank := func(name string) int {
		return slices.Index([]string{"status", "spec", "metadata", "kind", "apiVersion"}, name)
	}
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a, b))
	})
}

// member writes a field, which begins at the start of a line.
func (r *renderer) member(name string, value any, s *structural.Schema, indent string) {
	r.comment(s, indent)
	r.out.WriteString(indent + r.scalar(name) + ":")
	r.value(value, s, indent+"  ")
}

// comment writes the description of the next value.
func (r *renderer) comment(s *structural.Schema, indent string) {
	if s == nil || !r.comments || s.Description == "" {
		return
	}
	for line := range strings.SplitSeq(s.Description, "\n") {
		r.out.WriteString(strings.TrimRight(indent+"# "+line, " ") + "\n")
	}
}

// value writes the value after a colon or a dash, and ends the line.
func (r *renderer) value(value any, s *structural.Schema, indent string) {
	if s == nil {
		s = &structural.Schema{}
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			r.out.WriteString(" {}\n")
			return
		}
		r.out.WriteString("\n")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p := s.Properties[name]
			if p == nil {
				p = s.AdditionalProperties
			}
			r.member(name, v[name], p, indent)
		}
	case []any:
		if len(v) == 0 {
			r.out.WriteString(" []\n")
			return
		}
		r.out.WriteString("\n")
		for _, item := range v {
			r.item(item, s.Items, indent)
		}
	default:
		r.out.WriteString(" " + r.scalar(v) + "\n")
	}
}

// item writes an item of a list. The first field of an object follows the dash.
func (r *renderer) item(value any, s *structural.Schema, indent string) {
	inner := &renderer{comments: r.comments}
	inner.value(value, s, indent+"  ")
	r.err = cmp.Or(r.err, inner.err)
	text := inner.out.String()
	if block, ok := strings.CutPrefix(text, "\n"); ok {
		text = " " + strings.TrimPrefix(block, indent+"  ")
	}
	r.out.WriteString(indent + "-" + text)
}

// scalar returns a scalar value as one line.
func (r *renderer) scalar(v any) string {
	text, isText := v.(string)
	if isText && strings.ContainsFunc(text, unprintable) {
		return strconv.QuoteToASCII(text) // all escapes of Go are those of YAML
	}
	b, err := yaml.Marshal(v)
	if err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("write a sample: %w", err))
	}
	line := strings.TrimSuffix(string(b), "\n")
	if isText && strings.Contains(line, "\n") {
		return strconv.QuoteToASCII(text)
	}
	return line
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
