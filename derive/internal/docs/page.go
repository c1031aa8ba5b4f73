// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// Page documents one version of a group.
type Page struct {
	Group   string
	Version string
	Kinds   []*Type
	Types   []*Type // the types of the kinds' fields
}

// Type is a kind, or a type with a name.
type Type struct {
	Name   string
	Anchor string
	Doc    string
	Kind   *kind.Kind // nil for other types

	Diagrams []Diagram // of a kind

	Is     []Part   // the definition of a type that is not a struct
	Facts  []string // the validation, in Markdown
	Rules  []Rule
	Fields []Field
	UsedBy []Part // the types that have a field of it
}

// Field is a field of a struct. The fields of an unnamed struct follow the field of its type.
type Field struct {
	Path     string // such as spec.title
	Anchor   string
	Type     []Part
	Required bool
	Default  string // as JSON, or empty
	Doc      string
	Facts    []string
	Rules    []Rule
}

// Rule is a CEL rule of a value, or of the items, values or fields in it.
type Rule struct {
	structural.Rule
	Of string // such as "each item", or empty for the value itself
}

// Part is a part of a text, which may be a link.
type Part struct {
	Text string
	Link string
}

// Diagram is a diagram in the Mermaid language.
type Diagram struct{ Title, Text string }

// Source is the input for pages.
type Source struct {
	Kinds    []*kind.Kind
	Describe func(*kind.Kind) *jsonschema.Schema // with all definitions

	// Own reports whether the types of a package are documented on the pages. Link returns the address of other types.
	Own  func(pkgPath string) bool
	Link func(pkgPath, name string) string

	// Diagrams returns the diagrams of a kind.
	Diagrams func(*kind.Kind) []Diagram
}

// Pages returns the documentation of all kinds, by group and version.
func Pages(src *Source) []*Page {
	var pages []*Page
	byName := map[string]*builder{}
	for _, k := range src.Kinds {
		b := byName[k.APIVersion()]
		if b == nil {
			b = &builder{Source: src, page: &Page{Group: k.Group, Version: k.Version}, types: map[string]*Type{}, anchors: map[string]bool{}}
			byName[k.APIVersion()] = b
			pages = append(pages, b.page)
		}
		b.kind(k)
	}
	slices.SortFunc(pages, func(a, b *Page) int { return strings.Compare(a.Name(), b.Name()) })
	return pages
}

// Name returns the name of the page's file, without its extension.
func (p *Page) Name() string { return p.Group + "_" + p.Version }

// builder creates one page.
type builder struct {
	*Source
	page    *Page
	defs    jsonschema.Definitions
	types   map[string]*Type // by definition
	anchors map[string]bool
}

// anchor returns a unique anchor of the page.
func (b *builder) anchor(name string) string {
	var clean strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			clean.WriteRune(r)
		default:
			clean.WriteByte('-')
		}
	}
	base := strings.Trim(clean.String(), "-")
	unique := base
	for b.anchors[unique] {
		unique += "-"
	}
	b.anchors[unique] = true
	return unique
}

// kind documents a kind and the types that it uses.
func (b *builder) kind(k *kind.Kind) {
	doc := b.Describe(k)
	b.defs = doc.Definitions
	t := &Type{Name: k.Name, Anchor: b.anchor(k.Name), Doc: k.Description, Kind: k, Rules: ofValue(k.Rules)}
	t.Diagrams = b.Diagrams(k)
	b.page.Kinds = append(b.page.Kinds, t)
	root := doc
	if k.Root != nil && doc.Ref != "" {
		root = b.defs[strings.TrimPrefix(doc.Ref, structural.DefPrefix)]
	}
	t.Rules = append(slices.Clone(t.Rules), rulesOf(root)...)
	t.Facts = facts(root)
	b.fields(t, "", root)
	t.Fields = slices.DeleteFunc(t.Fields, func(f Field) bool { return isIdentity(f.Path) })
}

// isIdentity reports whether a field of a kind is common to all kinds.
func isIdentity(path string) bool {
	return path == "apiVersion" || path == "kind" || path == "metadata" || strings.HasPrefix(path, "metadata.")
}

// typeOf documents the type of a definition, once.
func (b *builder) typeOf(def string) *Type {
	if t := b.types[def]; t != nil {
		return t
	}
	s := b.definition(def)
	_, name := splitDef(def)
	t := &Type{Name: name, Anchor: b.anchor(name), Doc: s.Description, Facts: facts(s), Rules: rulesOf(s)}
	b.types[def] = t
	b.page.Types = append(b.page.Types, t)
	if isStruct(s) {
		b.fields(t, "", s)
	} else {
		t.Is = b.parts(t, s)
		moreFacts, moreRules := inner(s, false)
		t.Facts, t.Rules = append(t.Facts, moreFacts...), append(t.Rules, moreRules...)
	}
	return t
}

// definition returns the schema of a definition, or nil. That of a type that is declared with a generic type only
// refers to the definition that describes it, see [structural.BaseDef].
func (b *builder) definition(def string) *jsonschema.Schema {
	s := b.defs[def]
	for s != nil && structural.IsBaseDef(s.Ref) {
		base := b.defs[strings.TrimPrefix(s.Ref, structural.DefPrefix)]
		if base == nil {
			break
		}
		merged := *base
		merged.Description = cmp.Or(s.Description, base.Description)
		s = &merged
	}
	return s
}

// isStruct reports whether a schema describes fields.
func isStruct(s *jsonschema.Schema) bool { return s.Properties != nil || len(s.AllOf) > 0 }

// fields documents the fields of a struct and of its embedded structs. A field of the struct hides embedded ones of the
// same name.
func (b *builder) fields(t *Type, prefix string, s *jsonschema.Schema) {
	has := func(path string) bool {
		return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Path == path })
	}
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			if !has(prefix + p.Key) {
				b.field(t, prefix, p.Key, s, p.Value)
			}
		}
	}
	for _, e := range s.AllOf {
		if e.Ref != "" {
			if e = b.definition(strings.TrimPrefix(e.Ref, structural.DefPrefix)); e == nil {
				continue
			}
		}
		b.fields(t, prefix, e)
	}
}

// field documents one field.
func (b *builder) field(t *Type, prefix, name string, of, s *jsonschema.Schema) {
	path := prefix + name
	moreFacts, moreRules := inner(s, false)
	f := Field{
		Path:     path,
		Anchor:   b.anchor(t.Name + "-" + path),
		Required: slices.Contains(of.Required, name),
		Doc:      s.Description,
		Facts:    append(facts(s), moreFacts...),
		Rules:    append(rulesOf(s), moreRules...),
	}
	if s.Default != nil {
		f.Default = jsonText(s.Default)
	}
	at := len(t.Fields)
	t.Fields = append(t.Fields, f)
	if t.Kind == nil || !isIdentity(path) {
		t.Fields[at].Type = b.parts(t, s)
	}
	nested, behind := nameless(s)
	if nested != nil {
		b.fields(t, path+behind+".", nested)
	}
}

// nameless returns the unnamed struct of a schema, or of its items or values, and the suffix of the path to it.
func nameless(s *jsonschema.Schema) (nested *jsonschema.Schema, behind string) {
	for s != nil && s.Ref == "" {
		switch {
		case isStruct(s):
			return s, behind
		case s.Items != nil:
			s, behind = s.Items, behind+"[]"
		case isMap(s):
			s, behind = s.AdditionalProperties, behind+".*"
		default:
			return nil, ""
		}
	}
	return nil, ""
}

func isMap(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties != jsonschema.FalseSchema && s.AdditionalProperties != jsonschema.TrueSchema
}

// parts returns the type of a schema, with links. It documents the types of the page that it finds.
func (b *builder) parts(by *Type, s *jsonschema.Schema) []Part {
	switch def, isRef := strings.CutPrefix(s.Ref, structural.DefPrefix); {
	case isRef:
		return b.reference(by, def)
	case s.Items != nil:
		return append([]Part{{Text: "[]"}}, b.parts(by, s.Items)...)
	case isMap(s):
		return append([]Part{{Text: "map[string]"}}, b.parts(by, s.AdditionalProperties)...)
	}
	return []Part{{Text: basicName(s)}}
}

// reference returns the parts of a named type.
func (b *builder) reference(by *Type, def string) []Part {
	pkgPath, name := splitDef(def)
	s := b.defs[def]
	if s == nil || !b.Own(pkgPath) {
		return []Part{{Text: name, Link: b.Link(pkgPath, name)}}
	}
	t := b.typeOf(def)
	if !slices.ContainsFunc(t.UsedBy, func(p Part) bool { return p.Text == by.Name }) {
		t.UsedBy = append(t.UsedBy, Part{by.Name, "#" + by.Anchor})
	}
	return []Part{{t.Name, "#" + t.Anchor}}
}

// splitDef returns the package and the name of the type of a definition. The name includes type arguments, without
// their packages.
func splitDef(def string) (pkgPath, name string) {
	generic, args, isGeneric := strings.Cut(def, "[")
	dot := strings.LastIndexByte(generic, '.')
	pkgPath, name = generic[:max(dot, 0)], generic[dot+1:]
	if !isGeneric {
		return pkgPath, name
	}
	list := strings.Split(strings.TrimSuffix(args, "]"), ",")
	for i, arg := range list {
		stars := arg[:len(arg)-len(strings.TrimLeft(arg, "*[]"))]
		list[i] = stars + arg[max(strings.LastIndexByte(arg, '.')+1, len(stars)):]
	}
	return pkgPath, name + "[" + strings.Join(list, ", ") + "]"
}
