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
	"strconv"
	"strings"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/definition"
	"github.com/kube-go/sdk/derive/internal/kind"
)

// accepted checks that servers accept definitions. What they refuse is reported at the field that it is about, as far as
// that can be told. Those who need the CRDs of other modules can't mend them, but may do so in the YAML: they are warned.
func (r *run) accepted(list []assembled) {
	env := cel.NewEnvironment()
	checked := sideBySide(list, func(a assembled) ([]definition.Problem, error) {
		body, err := a.crd.Compact()
		if err != nil {
			return nil, err
		}
		_, problems := definition.Read(body, env)
		return problems, nil
	})
	for i, c := range checked {
		if c.err != nil {
			r.problems.add(list[i].versions[0].Pos, c.err.Error())
		}
		for _, p := range c.value {
			r.refused(p, list[i].versions)
		}
	}
}

// refused reports what servers say of a definition.
func (r *run) refused(p definition.Problem, versions []crd.Version) {
	if strings.Contains(p.Field, "api-approved.kubernetes.io") { // told when the kind was found
		return
	}
	v, path := versionOf(p.Field, versions)
	pos, label := r.declaredAt(v.Kind, path)
	r.program.Mistake(r.program.Package(v.Package), pos, fmt.Sprintf("%s: servers refuse this: %s", label, cmp.Or(p.Message, "it is wrong")))
}

// versionOf tells which version a path is in, and what is left of it inside of the schema.
func versionOf(path string, versions []crd.Version) (crd.Version, string) {
	const schema = "schema.openAPIV3Schema."
	v := versions[0]
	if rest, ok := strings.CutPrefix(path, "spec.versions["); ok {
		index, rest, _ := strings.Cut(rest, "].")
		if i, err := strconv.Atoi(index); err == nil && i < len(versions) {
			v = versions[i]
		}
		path = rest
	} else if rest, ok := strings.CutPrefix(path, "spec.validation.openAPIV3Schema."); ok { // what all versions have
		return v, rest
	}
	inside, ok := strings.CutPrefix(path, schema)
	if !ok {
		return v, ""
	}
	return v, inside
}

// step matches one step of a path that leads to another schema.
var step = regexp.MustCompile(`^(?:properties\[([^\]]+)\]|(items)|(additionalProperties))(?:\.|$)`)

// declaredAt returns the place of the last field on a path that the module's own sources declare, and the path up to where
// it could be followed, as one writes it about objects.
func (r *run) declaredAt(k *kind.Kind, path string) (token.Position, string) {
	pos, label := k.Pos, k.Name
	var at types.Type
	if k.Root != nil {
		at = k.Root.Type()
	}
	for first := true; ; first = false {
		m := step.FindStringSubmatch(path)
		if m == nil {
			return pos, label
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

// below returns the type that a step leads to, and the field when it leads through one.
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

// fieldNamed finds the field of a struct that has a JSON name, also in the structs that it embeds.
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
