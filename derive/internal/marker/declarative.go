// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"strings"
)

// declarativeMarkers are the markers of Kubernetes' declarative validation, see https://kep.k8s.io/5073. Their
// arguments are in parentheses, and their value may be another marker.
func declarativeMarkers() []definition {
	union := param{name: "union", kind: kindString}
	member := param{name: "memberName", kind: kindString}
	defs := []definition{
		value("optional", Field, kindFlag),
		value("required", Field, kindFlag),
		value("forbidden", Field, kindFlag),
		value("immutable", Field, kindFlag),
		value("maxLength", Type|Field, kindSize),
		value("minLength", Type|Field, kindSize),
		value("maxBytes", Type|Field, kindSize),
		value("maxItems", Type|Field, kindSize),
		value("minItems", Type|Field, kindSize),
		value("maxProperties", Type|Field, kindSize),
		value("minProperties", Type|Field, kindSize),
		value("maximum", Type|Field, kindNumber),
		value("minimum", Type|Field, kindNumber),
		value("format", Type|Field, kindString),
		value("enum", Type, kindFlag),
		value("enumExclude", Const, kindFlag),
		value("neq", Type|Field, kindAny),
		value("listType", Type|Field, kindString, "atomic", "set", "map"),
		value("listMapKey", Type|Field, kindString),
		value("unique", Type|Field, kindString, "set", "map"),
		value("monotonic", Type|Field, kindFlag),
		value("update", Type|Field, kindStrings),
		wrapper("eachVal"), wrapper("eachKey"),
		wrapper("subfield", param{name: "field", kind: kindString, required: true, positional: true}),
		{name: "dependentRequired", on: Field, params: []param{{name: "field", kind: kindString, required: true, positional: true}}},
		{name: "dependentForbidden", on: Field, params: []param{{name: "field", kind: kindString, required: true, positional: true}}},
		{name: "unionDiscriminator", on: Field, params: []param{union}},
		{name: "unionMember", on: Field, params: []param{union, member}},
		{name: "zeroOrOneOfMember", on: Field, params: []param{union, member}},
	}
	for name, why := range map[string]string{
		"item":               "use a rule of the list: +kubebuilder:validation:XValidation",
		"ifEnabled":          "options are those of an API server; write the inner marker",
		"ifDisabled":         "options are those of an API server; remove it",
		"alpha":              "a CRD enforces all rules; write the inner marker",
		"beta":               "a CRD enforces all rules; write the inner marker",
		"modeDiscriminator":  "use a rule of the struct: +kubebuilder:validation:XValidation",
		"ifMode":             "use a rule of the struct: +kubebuilder:validation:XValidation",
		"opaqueType":         "a type has the same schema for all fields; use another type for this field",
		"customValidation":   "a server can't call your function; use +kubebuilder:validation:XValidation, or a webhook",
		"customUnique":       "servers compare the items of sets and maps themselves; use +listType=atomic",
		"validateTrue":       "it is for tests of the Kubernetes generator",
		"validateFalse":      "it is for tests of the Kubernetes generator",
		"validateError":      "it is for tests of the Kubernetes generator",
		"validateTrueAlpha":  "it is for tests of the Kubernetes generator",
		"validateTrueBeta":   "it is for tests of the Kubernetes generator",
		"validateFalseAlpha": "it is for tests of the Kubernetes generator",
		"validateFalseBeta":  "it is for tests of the Kubernetes generator",
	} {
		defs = append(defs, definition{name: name, on: Type | Field | Const, unsupported: why, params: []param{{kind: kindRaw}}})
	}
	for i := range defs {
		d := &defs[i]
		d.name = "k8s:" + d.name
		d.declarative = true
		switch d.name {
		case "k8s:listMapKey", "k8s:eachVal", "k8s:eachKey", "k8s:subfield", "k8s:neq", "k8s:update", "k8s:dependentRequired",
			"k8s:dependentForbidden", "k8s:unionMember", "k8s:zeroOrOneOfMember":
			d.repeat = true
		}
		d.repeat = d.repeat || d.unsupported != ""
	}
	return defs
}

// wrapper returns a marker that applies another one to a part of the value.
func wrapper(name string, params ...param) definition {
	return definition{name: name, on: Type | Field, params: append(params, param{kind: kindMarker, required: true})}
}

// parseDeclarative reads the arguments in parentheses, and the value after them.
func (s *Set) parseDeclarative(d *definition, text string, pos int) (*Marker, error) {
	if own := d.param(""); own != nil && own.kind == kindRaw {
		return newArgReader(d).marker(false)
	}
	args := newArgReader(d)
	sc := &scanner{text: withoutNote(text), pos: pos}
	if sc.has("(") && len(d.paramNames()) > 0 {
		sc.accept('(')
		if err := readParens(args, sc); err != nil {
			return nil, err
		}
	}
	own := d.param("")
	switch sc.skipSpace(); {
	case sc.done():
		if own != nil && own.kind == kindFlag {
			args.set(own, true)
		}
		return args.marker(false)
	case !sc.accept('='):
		return nil, errorAt(sc.pos, "unexpected %q: %s", sc.rest(), d.usage())
	case own == nil:
		return nil, errorAt(sc.pos, "%s has no value", d.spelling(false))
	case own.kind == kindMarker:
		return s.parseWrapped(args, sc)
	}
	if err := readOwnValue(args, own, sc); err != nil {
		return nil, err
	}
	return args.marker(false)
}

// parseWrapped reads the marker that is the value of another.
func (s *Set) parseWrapped(args *argReader, sc *scanner) (*Marker, error) {
	sc.skipSpace()
	at := sc.pos
	if !sc.has("+k8s:") {
		return nil, errorAt(at, "%s applies another marker: write %[1]s=+k8s:…", args.def.spelling(false))
	}
	inner, err := s.parseTheirs(sc.rest())
	if err == nil && inner == nil {
		err = s.unknown(strings.TrimPrefix(firstWord(sc.rest()), "+"), "+", declaratives)
	}
	if err != nil {
		if e, ok := err.(*SyntaxError); ok { //nolint:errorlint // never wrapped
			e.Offset += at
		}
		return nil, err
	}
	inner.Offset = at
	args.set(args.def.param(""), inner.Name)
	m, err := args.marker(false)
	if m != nil {
		m.Applies = inner
	}
	return m, err
}

// readParens reads arguments up to the closing parenthesis: name: value, or one without a name.
func readParens(args *argReader, sc *scanner) error {
	for {
		sc.skipSpace()
		if sc.accept(')') {
			return nil
		}
		start := sc.pos
		text, err := sc.text1(":,)")
		if err != nil {
			return err
		}
		var p *param
		if sc.accept(':') {
			if p, err = args.param(text, start); err != nil {
				return err
			}
			sc.skipSpace()
			start = sc.pos
			if text, err = sc.text1(",)"); err != nil {
				return err
			}
		} else if p = args.def.positional(); p == nil {
			return errorAt(start, "%s needs the names of its arguments: %s", args.def.spelling(false), strings.Join(args.def.paramNames(), ", "))
		}
		v, err := convert(p, text, start)
		if err != nil {
			return err
		}
		args.set(p, v)
		sc.skipSpace()
		if !sc.accept(',') && !sc.has(")") {
			return errorAt(sc.pos, "expected a comma or a closing parenthesis")
		}
	}
}

// positional returns the argument without a name in parentheses, or nil if the marker has none.
func (d *definition) positional() *param {
	for i := range d.params {
		if d.params[i].positional {
			return &d.params[i]
		}
	}
	return nil
}

// withoutNote removes a comment, which follows a number sign outside of quotes, as Kubernetes does.
func withoutNote(text string) string {
	var quote rune
	for i, r := range text {
		switch {
		case quote == 0 && (r == '"' || r == '`'):
			quote = r
		case r == quote && (r == '`' || text[i-1] != '\\'):
			quote = 0
		case quote == 0 && r == '#':
			return strings.TrimRight(text[:i], " \t")
		}
	}
	return text
}

// Unsupported returns the reason why a CRD can't express the marker, or "" if it can.
func (s *Set) Unsupported(m *Marker) string { return s.byName[m.Name].unsupported }
