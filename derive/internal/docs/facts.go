// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// facts describes the validation of a value itself.
func facts(s *jsonschema.Schema) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		say("One of %s.", values(s.Enum))
	}
	if s.Format != "" && s.Format != "byte" && s.Ref == "" && s.Type == "string" {
		say("Format: %s.", s.Format)
	}
	if s.Pattern != "" {
		say("Matches %s.", code(s.Pattern))
	}
	for _, b := range []struct{ words, n string }{
		{"At least", s.Minimum.String()},
		{"More than", s.ExclusiveMinimum.String()},
		{"At most", s.Maximum.String()},
		{"Less than", s.ExclusiveMaximum.String()},
		{"A multiple of", s.MultipleOf.String()},
	} {
		if b.n != "" {
			say("%s %s.", b.words, b.n)
		}
	}
	for _, b := range []struct {
		min, max *uint64
		noun     string
	}{{s.MinLength, s.MaxLength, "character"}, {s.MinItems, s.MaxItems, "item"}, {s.MinProperties, s.MaxProperties, "entry"}} {
		if text := between(b.min, b.max, b.noun); text != "" {
			say("%s.", text)
		}
	}
	list = append(list, topology(s)...)
	for _, example := range s.Examples {
		say("Example: %s.", code(jsonText(example)))
	}
	if more, ok := s.Extras[structural.KeyExternalDocs].(*structural.ExternalDocs); ok {
		say("See %s", strings.TrimSpace(more.URL+" "+more.Description))
	}
	return list
}

// between describes a range of numbers.
func between(low, high *uint64, noun string) string {
	switch {
	case low != nil && high != nil && *low == *high:
		return "Exactly " + count(*low, noun)
	case low != nil && high != nil:
		return fmt.Sprintf("%d to %s", *low, count(*high, noun))
	case low != nil:
		return "At least " + count(*low, noun)
	case high != nil:
		return "At most " + count(*high, noun)
	}
	return ""
}

func count(n uint64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// topology describes how servers handle null, unknown fields, and applies by several managers.
func topology(s *jsonschema.Schema) []string {
	var list []string
	if s.Extras[structural.KeyNullable] == true {
		list = append(list, "May be null.")
	}
	switch s.Extras[structural.KeyListType] {
	case "set":
		list = append(list, "Items are unique.")
	case "map":
		keys, _ := s.Extras[structural.KeyListMapKeys].([]string)
		quoted := make([]string, len(keys))
		for i, key := range keys {
			quoted[i] = code(key)
		}
		list = append(list, fmt.Sprintf("Items are identified by %s.", strings.Join(quoted, " and ")))
	}
	if s.Extras[structural.KeyListType] == "atomic" && s.Type == "array" || s.Extras[structural.KeyMapType] == "atomic" {
		list = append(list, "Replaced as a whole by an apply.")
	}
	if s.Extras[structural.KeyEmbeddedResource] == true {
		list = append(list, "A complete Kubernetes object.")
	}
	if s.Extras[structural.KeyPreserveUnknownFields] == true && s.Type != "" {
		list = append(list, "Unknown fields are kept.")
	}
	return list
}

// inner describes the validation of the items of a list, and of the values of a map. It also describes what markers add
// to the fields of a named type, whose own validation is documented with the type. With added, s has only additions.
func inner(s *jsonschema.Schema, added bool) (list []string, rules []Rule) {
	added = added || s.Ref != ""
	visit := func(what string, of *jsonschema.Schema) {
		moreFacts, moreRules := inner(of, added)
		for _, fact := range append(facts(of), moreFacts...) {
			list = append(list, strings.ToUpper(what[:1])+what[1:]+": "+strings.ToLower(fact[:1])+fact[1:])
		}
		for _, r := range append(rulesOf(of), moreRules...) {
			r.Of = strings.TrimPrefix(r.Of+" of "+what, " of ")
			rules = append(rules, r)
		}
	}
	switch {
	case s.Items != nil:
		visit("each item", s.Items)
	case isMap(s):
		visit("each value", s.AdditionalProperties)
	}
	if !added {
		return list, rules
	}
	for _, name := range s.Required {
		list = append(list, fmt.Sprintf("Requires the field %s.", code(name)))
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			visit("field "+code(p.Key), p.Value)
		}
	}
	return list, rules
}

// rulesOf returns the rules of a value itself.
func rulesOf(s *jsonschema.Schema) []Rule {
	rules, _ := s.Extras[structural.KeyValidations].([]structural.Rule)
	return ofValue(rules)
}

func ofValue(rules []structural.Rule) (list []Rule) {
	for _, r := range rules {
		list = append(list, Rule{Rule: r})
	}
	return list
}

// basicName returns a name for a type without one.
func basicName(s *jsonschema.Schema) string {
	switch {
	case s.Extras[structural.KeyIntOrString] == true:
		return "integer or string"
	case isStruct(s):
		return "object"
	case s.Type == "string" && s.Format == "byte":
		return "base64"
	}
	return cmp.Or(s.Type, "any")
}

func values(list []any) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = code(strings.Trim(jsonText(v), `"`))
	}
	return strings.Join(texts, ", ")
}

// jsonText returns a value as one line of JSON.
func jsonText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// code returns any text as a code span of Markdown.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "\n", " ") + fence
}
