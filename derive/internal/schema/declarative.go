// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// declarative applies a marker of Kubernetes' declarative validation. The markers that controller-gen supports apply to
// types of other modules, too. The others do not: for these types, servers decide which markers are in force, and a CRD
// with more rules than that of controller-gen would reject objects that are valid today.
func (t *target) declarative(m *load.Marker) error {
	switch name := strings.TrimPrefix(m.Name, "k8s:"); name {
	case "optional":
		return nil
	case "required", "immutable", "enum":
		return t.general(m.Name, m)
	case "listType":
		return t.topology(name, m)
	case "listMapKey":
		if t.decl.Has("k8s:unique") && t.builder.strict(t.obj) {
			return t.uniqueKey(m)
		}
		return t.topology(name, m)
	case "maximum", "minimum":
		return t.numeric(strings.ToUpper(name[:1])+name[1:], m.Args)
	case "maxItems":
		return t.counted("MaxItems", m.Args)
	}
	if !t.builder.strict(t.obj) {
		return nil
	}
	if why := t.builder.program.Markers().Unsupported(m.Marker); why != "" {
		return errors.New("a CRD can't express this: " + why)
	}
	return t.declared(m)
}

// declared applies a marker that is used only for the types of the module itself.
func (t *target) declared(m *load.Marker) error {
	switch name := strings.TrimPrefix(m.Name, "k8s:"); name {
	case "minItems", "maxProperties", "minProperties":
		return t.counted(strings.ToUpper(name[:1])+name[1:], m.Args)
	case "maxLength", "minLength":
		if err := t.wantText(); err != nil {
			return err
		}
		return t.textual(strings.ToUpper(name[:1])+name[1:], m.Args)
	case "maxBytes", "format":
		return t.ofString(m)
	case "neq":
		return t.neq(m)
	case "unique":
		return t.unique(m.Args.String(""))
	case "monotonic":
		if err := t.want("numbers", "integer", "number"); err != nil {
			return err
		}
		t.rule(structural.Rule{Rule: "self >= oldSelf", Message: "the value may not decrease"})
	case "update":
		return t.update(m)
	case "eachVal":
		return t.eachVal(m)
	case "eachKey":
		return t.eachKey(m)
	case "subfield":
		return t.subfield(m)
	}
	return nil // for the struct that has the field
}

// wantText returns an error if the target is not a string, or if it is a list of bytes.
func (t *target) wantText() error {
	if err := t.want("strings", "string"); err != nil {
		return err
	}
	if t.resolved().Format == shape.Bytes().Format {
		return fmt.Errorf("it restricts strings; this is a list of bytes, which is stored as base64: "+
			"limit the length of the base64 with +%[1]sMaxLength or +%[1]sMinLength", validation)
	}
	return nil
}

// ofString applies markers for the content of strings.
func (t *target) ofString(m *load.Marker) error {
	if err := t.wantText(); err != nil {
		return err
	}
	s := t.schema
	if m.Name == "k8s:maxBytes" {
		n := m.Args.Number("").String()
		t.rule(structural.Rule{Rule: fmt.Sprintf("size(bytes(self)) <= %s", n), Message: fmt.Sprintf("may not be more than %s bytes", n)})
		if s.MaxLength == nil { // a character has at least one byte
			return size(m.Args, &s.MaxLength)
		}
		return nil
	}
	f, err := formatOf(m.Args.String(""))
	if err != nil {
		return err
	}
	if f.pattern != "" {
		if s.Pattern != "" && s.Pattern != f.pattern {
			return fmt.Errorf("it is the pattern %s, but the field already has the pattern %s", f.pattern, s.Pattern)
		}
		s.Pattern = f.pattern
		f.pattern = ""
	}
	if f.rule != "" {
		t.rule(structural.Rule{Rule: f.test("self"), Message: f.message})
	}
	if f.maxLength > 0 && (s.MaxLength == nil || *s.MaxLength > f.maxLength) {
		s.MaxLength = &f.maxLength
	}
	return nil
}

func (t *target) neq(m *load.Marker) error {
	v := m.Args[""]
	if err := t.fits(v); err != nil {
		return err
	}
	literal, err := celLiteral(v)
	if err != nil {
		return err
	}
	if t.typeName() == "number" && !strings.ContainsAny(literal, ".eE") { // CEL does not compare it with an integer
		literal += ".0"
	}
	t.rule(structural.Rule{Rule: "self != " + literal, Message: "may not be " + literal})
	return nil
}

// celLiteral returns the value of a marker as a CEL literal.
func celLiteral(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", errors.New("the value must be a string, a number or a boolean")
}

// uniqueKey adds a field that identifies the items of an atomic list.
func (t *target) uniqueKey(m *load.Marker) error {
	if err := t.want("lists", "array"); err != nil {
		return err
	}
	key := m.Args.String("")
	if full := t.full(); full != nil && full.Items != nil && full.Items.Properties[key] == nil {
		return fmt.Errorf("the items have no field %q%s", key, didYouMean(key, full.Items))
	}
	keys, _ := t.schema.Extras[structural.KeyListMapKeys].([]string)
	t.extra(structural.KeyListMapKeys, append(slices.Clone(keys), key))
	return nil
}

// unique adds a rule that the items of an atomic list differ, which servers ensure for sets and maps.
func (t *target) unique(how string) error {
	if err := t.want("lists", "array"); err != nil {
		return err
	}
	listType, _, limited := t.list()
	if listType == how { // servers compare the items
		return nil
	}
	if listType != "" && listType != "atomic" {
		return fmt.Errorf("the list already has the type %s", listType)
	}
	same := "x == y"
	if how == "map" {
		keys, _ := t.schema.Extras[structural.KeyListMapKeys].([]string)
		if len(keys) == 0 {
			return errors.New("it needs a +k8s:listMapKey: the field that identifies an item")
		}
		delete(t.schema.Extras, structural.KeyListMapKeys) // servers accept them only in maps
		full := t.full()
		tests := make([]string, len(keys))
		for i, key := range keys {
			tests[i] = fmt.Sprintf("x.%[1]s == y.%[1]s", celName(key))
			if full != nil && full.Items != nil && mayLack(full.Items, key) { // items without the key have the same one
				tests[i] = fmt.Sprintf("has(x.%[1]s) == has(y.%[1]s) && (!has(x.%[1]s) || x.%[1]s == y.%[1]s)", celName(key))
			}
		}
		same = strings.Join(tests, " && ")
	}
	if !limited {
		return errors.New("it needs a +k8s:maxItems: servers reject a comparison of all items without a limit")
	}
	t.rule(structural.Rule{Rule: "self.all(x, self.exists_one(y, " + same + "))", Message: "the items must differ"})
	return nil
}

// list returns the type of a list, its keys, and whether its length is limited. Its type may set them, too.
func (t *target) list() (listType string, keys []string, limited bool) {
	listType, _ = t.schema.Extras[structural.KeyListType].(string)
	keys, _ = t.schema.Extras[structural.KeyListMapKeys].([]string)
	limited = t.schema.MaxItems != nil
	if full := t.full(); full != nil {
		listType, keys, limited = full.ListType, full.ListMapKeys, limited || full.MaxItems != nil
	}
	return listType, keys, limited
}

// update restricts changes of the value. The rules for setting and unsetting it belong to the struct that has the
// field.
func (t *target) update(m *load.Marker) error {
	known := []string{"NoModify", "NoSet", "NoUnset", "NoAddItem", "NoRemoveItem"}
	for _, how := range m.Args.Strings("") {
		switch how {
		case "NoModify":
			t.rule(structural.Rule{Rule: "self == oldSelf", Message: "field is immutable once set"})
		case "NoAddItem", "NoRemoveItem":
			if err := t.items1(how); err != nil {
				return err
			}
		case "NoSet", "NoUnset":
		default:
			if near := suggest.Nearest(how, known); near != "" {
				return fmt.Errorf("%q is not one of %s; did you mean %q?", how, strings.Join(known, ", "), near)
			}
			return fmt.Errorf("%q is not one of %s", how, strings.Join(known, ", "))
		}
	}
	return nil
}

// items1 forbids adding items to a list or a map, or removing them.
func (t *target) items1(how string) error {
	from, to, what := "self", "oldSelf", "added"
	if how == "NoRemoveItem" {
		from, to, what = "oldSelf", "self", "removed"
	}
	listType, keys, _ := t.list()
	test := "x in " + to
	switch {
	case t.typeName() == "object":
	case t.typeName() == "array" && listType == "set":
	case t.typeName() == "array" && listType == "map" && len(keys) > 0:
		tests := make([]string, len(keys))
		for i, key := range keys {
			tests[i] = fmt.Sprintf("x.%[1]s == y.%[1]s", celName(key))
		}
		test = fmt.Sprintf("%s.exists(y, %s)", to, strings.Join(tests, " && "))
	default:
		return fmt.Errorf("%s needs items with an identity: a map, or a list with +listType=set or +listType=map", how)
	}
	t.rule(structural.Rule{Rule: fmt.Sprintf("%s.all(x, %s)", from, test), Message: "items may not be " + what})
	return nil
}

// eachVal applies a marker to the items of a list or the values of a map.
func (t *target) eachVal(m *load.Marker) error {
	switch {
	case t.typeName() == "array":
		return t.within(&t.schema.Items, t.resolved().Items).inner(m)
	case t.typeName() == "object" && t.resolved().AdditionalProperties != nil:
		return t.within(&t.schema.AdditionalProperties, t.resolved().AdditionalProperties).inner(m)
	}
	return errors.New("only lists and maps have values; this is " + t.describe())
}

// subfield applies a marker to a field of a struct.
func (t *target) subfield(m *load.Marker) error {
	name := m.Args.String("field")
	full := t.full()
	if full == nil {
		return nil // reported elsewhere
	}
	prop := full.Properties[name]
	if prop == nil {
		return fmt.Errorf("field %q does not exist%s", name, didYouMean(name, full))
	}
	s := t.schema
	switch m.Applies.Name {
	case "k8s:required":
		s.Required = append(slices.Clone(s.Required), name)
	case "k8s:optional":
		if slices.Contains(full.Required, name) {
			return fmt.Errorf("field %q is required by its struct, and can't be made optional here", name)
		}
		return nil
	}
	if s.Properties == nil {
		s.Properties = jsonschema.NewProperties()
	}
	p, ok := s.Properties.Get(name)
	if !ok {
		p = &jsonschema.Schema{Type: prop.Type}
		if prop.IntOrString {
			p.Extras = map[string]any{structural.KeyIntOrString: true}
		}
		s.Properties.Set(name, p)
	}
	if m.Applies.Name == "k8s:forbidden" {
		t.rule(structural.Rule{Rule: fmt.Sprintf("!has(self.%s)", celName(name)), Message: fmt.Sprintf("%s may not be set", name)})
		return nil
	}
	return (&target{builder: t.builder, schema: p, own: t.property(t.resolved(), name), obj: t.obj, decl: t.decl}).inner(m)
}

// property returns the schema of a field of a struct or of those that it embeds; nil for none.
func (t *target) property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if s.Properties != nil {
		if p, ok := s.Properties.Get(name); ok {
			return p
		}
	}
	for _, embedded := range s.AllOf {
		if p := t.property(t.builder.resolve(embedded), name); p != nil {
			return p
		}
	}
	return nil
}

// within returns the target of markers for the items or values. If they have a named type, own, the markers are added
// to those of the type.
func (t *target) within(at **jsonschema.Schema, own *jsonschema.Schema) *target {
	if *at == nil {
		*at = &jsonschema.Schema{}
		if own != nil {
			(*at).Type = t.builder.resolve(own).Type
		}
	}
	return &target{builder: t.builder, schema: *at, own: own, obj: t.obj, decl: t.decl, marker: t.marker, items: true}
}

// inner applies the marker that another marker contains.
func (t *target) inner(m *load.Marker) error {
	inner := &load.Marker{Marker: m.Applies, Pos: m.Pos}
	switch inner.Name {
	case "k8s:optional", "k8s:forbidden", "k8s:unionMember", "k8s:unionDiscriminator", "k8s:zeroOrOneOfMember",
		"k8s:dependentRequired", "k8s:dependentForbidden", "k8s:enum", "k8s:enumExclude":
		return fmt.Errorf("%s has no effect here", t.builder.program.Markers().Spelling(inner.Marker))
	}
	if err := t.declarative(inner); err != nil {
		return fmt.Errorf("%s: %w", t.builder.program.Markers().Spelling(inner.Marker), err)
	}
	return nil
}

// eachKey adds a rule for the keys of a map.
func (t *target) eachKey(m *load.Marker) error {
	if t.typeName() != "object" || t.resolved().AdditionalProperties == nil {
		return errors.New("only maps have keys; this is " + t.describe())
	}
	test, message, err := keyTest(m)
	if err != nil {
		return err
	}
	t.rule(structural.Rule{Rule: "self.all(k, " + test + ")", Message: "each key " + message})
	return nil
}

// keyTest returns the CEL expression of a marker for a key k, and its message.
func keyTest(m *load.Marker) (test, message string, err error) {
	a := m.Applies.Args
	n := a.Number("").String()
	switch m.Applies.Name {
	case "k8s:maxLength":
		return "size(k) <= " + n, "may have at most " + n + " characters", nil
	case "k8s:minLength":
		return "size(k) >= " + n, "must have at least " + n + " characters", nil
	case "k8s:maxBytes":
		return "size(bytes(k)) <= " + n, "may have at most " + n + " bytes", nil
	case "k8s:neq":
		literal, err := celLiteral(a[""])
		return "k != " + literal, "must differ from " + literal, err
	case "k8s:format":
		f, err := formatOf(a.String(""))
		if err != nil {
			return "", "", err
		}
		test := f.test("k")
		if f.maxLength > 0 {
			test = fmt.Sprintf("size(k) <= %d && %s", f.maxLength, test)
		}
		return test, f.message, nil
	}
	return "", "", fmt.Errorf("+%s does not apply to keys", m.Applies.Name)
}

// aboutStruct adds the rules that the markers of a field cause in its struct. Servers do not evaluate a rule of the
// field itself that refers to oldSelf if the old or the new object does not have the field.
func (b *Builder) aboutStruct(parent *jsonschema.Schema, field *types.Var, name string, decl *load.Decl) {
	if !b.strict(field) {
		return
	}
	t := &target{builder: b, schema: parent}
	f := celName(name)
	for _, m := range decl.Markers {
		if strings.HasPrefix(m.Name, "k8s:dependent") {
			b.checkSibling(parent, m)
		}
		other := m.Args.String("field")
		switch m.Name {
		case "k8s:forbidden":
			t.rule(structural.Rule{Rule: "!has(self." + f + ")", Message: name + " may not be set"})
		case "k8s:dependentRequired":
			t.rule(structural.Rule{Rule: fmt.Sprintf("!has(self.%s) || has(self.%s)", f, celName(other)), Message: other + " must be set when " + name + " is"})
		case "k8s:dependentForbidden":
			t.rule(structural.Rule{Rule: fmt.Sprintf("!has(self.%s) || !has(self.%s)", f, celName(other)), Message: other + " may not be set when " + name + " is"})
		}
	}
	decls := b.declarations(field, decl)
	for _, d := range decls {
		for _, m := range d.Markers {
			if m.Name != "k8s:update" {
				continue
			}
			for _, how := range m.Args.Strings("") {
				t.updateOf(name, how)
			}
		}
	}
	if isNumber(field.Type()) && slices.ContainsFunc(decls, func(d *load.Decl) bool { return d.Has("k8s:monotonic") }) {
		t.monotonicOf(name)
	}
}

// declarations returns the declaration of a field, and those of its type and of the bases of its type.
func (b *Builder) declarations(field *types.Var, decl *load.Decl) []*load.Decl {
	all := []*load.Decl{decl}
	if named, ok := field.Type().(interface{ Obj() *types.TypeName }); ok {
		for obj := named.Obj(); obj != nil && obj.Pkg() != nil && b.strict(obj); obj = b.program.Base(obj) {
			all = append(all, b.program.Decl(obj))
		}
	}
	return all
}

// isNumber reports whether a type is a number. A pointer is not one: Kubernetes ignores changes from and to nil.
func isNumber(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// updateOf adds the rule of a +k8s:update for setting and unsetting a field of the struct.
func (t *target) updateOf(name, how string) {
	rule, message := "", ""
	switch how {
	case "NoSet":
		rule, message = "!has(self.%[1]s) || has(oldSelf.%[1]s)", name+" may not be set later"
	case "NoUnset":
		rule, message = "!has(oldSelf.%[1]s) || has(self.%[1]s)", name+" may not be unset"
	case "NoAddItem":
		rule, message = "has(oldSelf.%[1]s) || !has(self.%[1]s) || size(self.%[1]s) == 0", "items of "+name+" may not be added"
	case "NoRemoveItem":
		rule, message = "!has(oldSelf.%[1]s) || size(oldSelf.%[1]s) == 0 || has(self.%[1]s)", "items of "+name+" may not be removed"
	}
	if rule == "" || strings.HasSuffix(how, "Item") && !t.optional(name, "array", "object") {
		return
	}
	t.rule(structural.Rule{Rule: fmt.Sprintf(rule, celName(name)), Message: message})
}

// monotonicOf adds the rule of a +k8s:monotonic for setting and unsetting a field of the struct, for which an absent
// number is zero.
func (t *target) monotonicOf(name string) {
	if !t.optional(name, "integer", "number") {
		return
	}
	t.rule(structural.Rule{
		Rule:    fmt.Sprintf("has(self.%[1]s) ? has(oldSelf.%[1]s) || self.%[1]s >= 0 : !has(oldSelf.%[1]s) || oldSelf.%[1]s <= 0", celName(name)),
		Message: name + " may not decrease",
	})
}

// optional reports whether a field of the struct is optional and has one of the types.
func (t *target) optional(name string, typeNames ...string) bool {
	p, _ := t.schema.Properties.Get(name)
	return !slices.Contains(t.schema.Required, name) && slices.Contains(typeNames, t.builder.resolve(p).Type)
}

// checkSibling checks that the field that another one depends on exists, when the document is complete.
func (b *Builder) checkSibling(parent *jsonschema.Schema, m *load.Marker) {
	b.checks = append(b.checks, func() {
		name := m.Args.String("field")
		if full := b.rewritten(parent); full != nil && full.Properties[name] == nil {
			b.report(m.Pos, fmt.Sprintf("+%s: field %q does not exist%s", m.Name, name, didYouMean(name, full)))
		}
	})
}
