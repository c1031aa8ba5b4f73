// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// JSON is the parsed json tag of a field.
type JSON struct {
	Name    string
	Tagged  bool // the field has a tag
	Ignored bool // the field is not part of the object
	Inline  bool // the option of Kubernetes types, which encoding/json ignores
	Omitted bool // the field is omitted if it is empty
	Quoted  bool // numbers and booleans are encoded as strings

	options []string
}

// Misspelled returns an unknown option of the json tag and the similar option that was probably meant, or "". A
// misspelled option has no effect: a field with a misspelled omitempty is required.
func (j JSON) Misspelled() (option, meant string) {
	known := []string{"omitempty", "omitzero", "inline", "string"}
	for _, o := range j.options {
		if near := suggest.Nearest(strings.TrimSpace(o), known); near != "" && near != o {
			return o, near
		}
	}
	return "", ""
}

// ParseJSON parses the json tag of a field.
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

// MetadataTag returns a problem and its remedy if a kind that embeds TypeMeta or ObjectMeta of meta/v1 with this tag
// can't decode the objects of API servers.
func (j JSON) MetadataTag(name string) (problem, remedy string) {
	switch {
	case name == "TypeMeta" && (j.Ignored || j.Name != ""):
		return "kind and apiVersion must be fields of the object itself", `tag it json:",inline"`
	case name == "ObjectMeta" && j.Name != "metadata":
		return "the metadata of an object is in its field metadata", `tag it json:"metadata,omitempty"`
	}
	return "", ""
}

// Written reports whether encoding/json can write a field: an exported one, or an embedded struct, which may have
// exported fields.
func Written(f *types.Var) bool {
	t := f.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, isStruct := t.Underlying().(*types.Struct)
	return f.Exported() || f.Embedded() && isStruct
}

// Hidden reports whether the jsonschema tag of a field omits the field.
func Hidden(tag reflect.StructTag) bool { return tag.Get("jsonschema") == "-" }

// HasTags reports whether a field has tags for its schema.
func HasTags(tag reflect.StructTag) bool {
	return tag.Get("jsonschema") != "" || tag.Get("jsonschema_description") != "" || tag.Get("jsonschema_extras") != ""
}

// Preserves reports whether the tags of a field preserve unknown fields.
func Preserves(tag reflect.StructTag) bool {
	return slices.Contains(split(tag.Get("jsonschema_extras")), keyword{structural.KeyPreserveUnknownFields, "true", true})
}

// keyword is one keyword of a jsonschema tag.
type keyword struct {
	name  string
	value string
	set   bool // the keyword has a value
}

// split splits a tag at its unescaped commas.
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
