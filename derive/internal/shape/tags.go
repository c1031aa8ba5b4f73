// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// JSON is what the json tag of a field says.
type JSON struct {
	Name    string
	Tagged  bool // there is a tag
	Ignored bool // the field is not part of the object
	Inline  bool // which encoding/json does not know, and Kubernetes types say
	Omitted bool // the field is left out when it has nothing in it
	Quoted  bool // numbers and truth values are written as texts

	options []string
}

// Misspelt returns an option of the json tag that encoding/json does not know and that looks like one it does, with that
// one; "" when there is none. Such an option has no effect: a field that was to be optional is required.
func (j JSON) Misspelt() (option, meant string) {
	known := []string{"omitempty", "omitzero", "inline", "string"}
	for _, o := range j.options {
		if near := suggest.Nearest(strings.TrimSpace(o), known); near != "" && near != o {
			return o, near
		}
	}
	return "", ""
}

// ParseJSON reads the json tag of a field.
func ParseJSON(tag reflect.StructTag) JSON {
	text, tagged := tag.Lookup("json")
	name, rest, _ := strings.Cut(text, ",")
	options := strings.Split(rest, ",")
	return JSON{
		Name:    name,
		Tagged:  tagged,
		Ignored: text == "-",
		Inline:  slices.Contains(options, "inline"),
		Omitted: slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
		Quoted:  slices.Contains(options, "string"),
		options: options,
	}
}

// Hidden reports whether the jsonschema tag of a field leaves it out.
func Hidden(tag reflect.StructTag) bool { return tag.Get("jsonschema") == "-" }

// Mentioned reports whether a field has tags about its schema.
func Mentioned(tag reflect.StructTag) bool {
	return tag.Get("jsonschema") != "" || tag.Get("jsonschema_description") != "" || tag.Get("jsonschema_extras") != ""
}

// Preserves reports whether the tags of a field say that what is below it may be anything.
func Preserves(tag reflect.StructTag) bool {
	return slices.Contains(split(tag.Get("jsonschema_extras")), keyword{structural.KeyPreserveUnknownFields, "true", true})
}

// keyword is one part of a jsonschema tag.
type keyword struct {
	name  string
	value string
	set   bool // there is a value
}

// split reads a tag whose parts are separated by commas that no backslash precedes.
func split(tag string) []keyword {
	var list []keyword
	var part strings.Builder
	add := func() {
		if part.Len() > 0 {
			name, value, set := strings.Cut(part.String(), "=")
			list = append(list, keyword{name, value, set})
		}
		part.Reset()
	}
	for i := 0; i < len(tag); i++ {
		switch c := tag[i]; {
		case c == '\\' && i+1 < len(tag) && tag[i+1] == ',':
			part.WriteByte(',')
			i++
		case c == ',':
			add()
		default:
			part.WriteByte(c)
		}
	}
	add()
	return list
}
