// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/definition"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// accepted checks that servers accept the definitions. It reports each problem at its field, if it finds the field. In
// packages of other modules, a problem is a warning: users can't change the sources, but they can change the YAML.
func (r *run) accepted(list []assembled) {
	env := cel.NewEnvironment()
	checked := sideBySide(list, func(a assembled) ([]definition.Problem, error) {
		body, err := a.crd.Compact()
		if err != nil {
			return nil, err
		}
		return definition.Problems(body, env), nil
	})
	for i, c := range checked {
		if c.err != nil {
			r.problems.add(list[i].versions[0].Pos, c.err.Error())
		}
		for _, p := range c.value {
			r.refused(p, list[i])
		}
	}
}

// refused reports a problem of a definition, unless a mistake that has been reported may be its cause.
func (r *run) refused(p definition.Problem, a assembled) {
	v, path := versionOf(p.Field, a.versions)
	if p.Unapproved() { // not a mistake, since the annotation may be added to the YAML later
		r.warnings.add(v.Pos, fmt.Sprintf("group %q belongs to the Kubernetes project: "+
			"servers reject its CRDs without the annotation api-approved.kubernetes.io: add it with "+
			"//kube:metadata or +kubebuilder:metadata:annotations", v.Group))
		return
	}
	pos, label, about := r.declaredAt(v.Kind, path)
	if i := strings.LastIndex(path, ".items"); i >= 0 && isKey(p) { // the markers of the list name the key
		_, _, about = r.declaredAt(v.Kind, path[:i])
	}
	if r.follows(p, about) || path == "" && a.mistaken {
		return
	}
	msg := cmp.Or(p.Message, "it is invalid")
	if at := about.rest; strings.HasPrefix(at, "default.") || strings.HasPrefix(at, "default[") { // inside of the default
		msg = strings.ReplaceAll(at, ".[", "[") + ": " + msg
	}
	msg = fmt.Sprintf("%s: %sservers reject this: %s", label, quotesHint(msg), msg)
	r.program.Mistake(r.program.Package(v.Package), pos, msg)
}

// quotesHint returns the cause of a syntax error in a rule and the remedy, if gofmt has written a quotation mark into
// it.
func quotesHint(msg string) string {
	if !strings.Contains(msg, "token recognition error at: '”") {
		return ""
	}
	return `gofmt has replaced '' by ” in this comment: write size(x) == 0, or "" in a rule with backquotes around it; `
}

// follows reports whether other mistakes may be the cause of a problem. The schema does not have invalid markers and
// fields, so a rule may use a field that is missing or has another type. A syntax error, and an invalid message or
// reason, have no other cause. The problem is at a field, which may be nil, and its type.
func (r *run) follows(p definition.Problem, about declared) bool {
	switch {
	case r.problems.none():
		return false
	case strings.Contains(p.Message, "rule cost"), // it depends on the limits of all values
		isKey(p) && r.keys: // reported with another message
		return true
	case strings.Contains(p.Message, "undefined field") && r.incomplete:
		return true
	case strings.Contains(p.Field, structural.KeyValidations) && !strings.HasSuffix(p.Field, ".fieldPath"):
		return strings.Contains(p.Message, "compilation failed") && !strings.Contains(p.Message, "Syntax error") &&
			r.mistakenFields(about.typ)
	}
	return about.field != nil && r.mistakenAt(about.field) || r.mistakenType(about.typ)
}

// isKey reports whether a problem is a key of a list that its items may lack.
func isKey(p definition.Problem) bool {
	return strings.Contains(p.Message, "this property is in "+structural.KeyListMapKeys)
}

// declared has the declarations of a path in a schema. Each may be nil.
type declared struct {
	field *types.Var
	typ   types.Type
	rest  string // of the path, such as the name of a keyword
}

// mistakenAt reports whether the declaration of a field or type, or its comments, have mistakes.
func (r *run) mistakenAt(obj types.Object) bool {
	decl := r.program.Decl(obj)
	pos := r.problems.relative(decl.Pos)
	return slices.ContainsFunc(r.problems.list, func(p Problem) bool {
		return p.Position.Filename == pos.Filename && p.Position.Line <= pos.Line && p.Position.Line >= min(decl.Start.Line, pos.Line)
	})
}

// mistakenFields is mistakenAt for the fields of a struct, which its rules use.
func (r *run) mistakenFields(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return r.mistakenFields(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if r.mistakenAt(f) || f.Embedded() && r.mistakenFields(f.Type()) {
				return true
			}
		}
	}
	return false
}

// mistakenType is mistakenAt for the declarations of a type and of its elements.
func (r *run) mistakenType(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.Obj().Pkg() != nil && r.mistakenAt(t.Obj())
	case *types.Alias:
		return t.Obj().Pkg() != nil && (r.mistakenAt(t.Obj()) || r.mistakenType(t.Rhs()))
	case interface{ Elem() types.Type }:
		return r.mistakenType(t.Elem())
	}
	return false
}

// versionOf returns the version of a path, and the rest of the path in the schema.
func versionOf(path string, versions []crd.Version) (crd.Version, string) {
	const schema = "schema.openAPIV3Schema."
	v := versions[0]
	if rest, ok := strings.CutPrefix(path, "spec.versions["); ok {
		index, rest, _ := strings.Cut(rest, "].")
		if i, err := strconv.Atoi(index); err == nil && i < len(versions) {
			v = versions[i]
		}
		path = rest
	} else if rest, ok := strings.CutPrefix(path, "spec.validation.openAPIV3Schema."); ok { // for all versions
		return v, rest
	}
	inside, ok := strings.CutPrefix(path, schema)
	if !ok {
		return v, ""
	}
	return v, inside
}

// step matches one step of a path to another schema.
var step = regexp.MustCompile(`^(?:properties\[([^\]]+)\]|(items)|(additionalProperties))(?:\.|$)`)

// declaredAt returns the position of the last field of a path that the sources of the module declare, the part of the
// path that exists, as a path of an object, and its declarations.
func (r *run) declaredAt(k *kind.Kind, path string) (pos token.Position, label string, about declared) {
	pos, label = k.Pos, k.Name
	var at types.Type
	if k.Root != nil {
		at = k.Root.Type()
	}
	for first := true; ; first = false {
		m := step.FindStringSubmatch(path)
		if m == nil {
			about.typ, about.rest = at, path
			return pos, label, about
		}
		path = path[len(m[0]):]
		switch {
		case m[2] != "":
			label += "[]"
		case m[3] != "":
			label += ".*"
		default:
			label += "." + m[1]
		}
		if first && k.Root == nil {
			at = specOrStatus(k, m[1])
			continue
		}
		var field *types.Var
		at, field = below(at, m)
		if field == nil || field.Pkg() == nil {
			continue
		}
		about.field = field
		if pkg := r.program.Package(field.Pkg().Path()); pkg != nil && pkg.Strict {
			pos = r.program.Decl(field).Pos
		}
	}
}

func specOrStatus(k *kind.Kind, name string) types.Type {
	switch {
	case name == "spec" && k.Spec != nil:
		return k.Spec.Type()
	case name == "status" && k.Status != nil:
		return k.Status.Type()
	}
	return nil
}

// below returns the type after a step, and the field of the step, if it has one.
func below(t types.Type, step []string) (types.Type, *types.Var) {
	if t == nil {
		return nil, nil
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return below(u.Elem(), step)
	case *types.Slice:
		return u.Elem(), nil
	case *types.Array:
		return u.Elem(), nil
	case *types.Map:
		return u.Elem(), nil
	case *types.Struct:
		if f := fieldNamed(u, step[1]); f != nil {
			return f.Type(), f
		}
	}
	return nil, nil
}

// fieldNamed finds the field of a struct with a JSON name, also in its embedded structs.
func fieldNamed(st *types.Struct, name string) *types.Var {
	for i := range st.NumFields() {
		f := st.Field(i)
		tag, _, _ := strings.Cut(reflect.StructTag(st.Tag(i)).Get("json"), ",")
		if tag == name {
			return f
		}
		inner := f.Type()
		if p, ok := inner.Underlying().(*types.Pointer); ok {
			inner = p.Elem()
		}
		if embedded, ok := inner.Underlying().(*types.Struct); ok && f.Embedded() && tag == "" {
			if found := fieldNamed(embedded, name); found != nil {
				return found
			}
		}
	}
	return nil
}
