// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package deepcopy

import (
	"go/types"
)

// Reach returns the struct types of a package that the given types use, and these types, without duplicates. Types for
// which own returns true have hand-written methods, and their fields are ignored. Generic types are ignored, but not
// the types that their instances use.
func Reach(pkg *types.Package, from []*types.TypeName, own func(*types.Named) bool) []*types.TypeName {
	r := &reacher{pkg: pkg, own: own, seen: map[types.Type]bool{}}
	for _, obj := range from {
		r.visit(obj.Type())
	}
	return r.found
}

type reacher struct {
	pkg   *types.Package
	own   func(*types.Named) bool
	seen  map[types.Type]bool
	found []*types.TypeName
}

func (r *reacher) visit(t types.Type) {
	t = types.Unalias(t)
	if r.seen[t] {
		return
	}
	r.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		r.named(t)
	case *types.Pointer:
		r.visit(t.Elem())
	case *types.Slice:
		r.visit(t.Elem())
	case *types.Array:
		r.visit(t.Elem())
	case *types.Map:
		r.visit(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			r.visit(f.Type())
		}
	}
}

func (r *reacher) named(t *types.Named) {
	local := t.Obj().Pkg() == r.pkg
	generic := t.TypeParams().Len() > 0 && t.TypeArgs().Len() == 0
	if generic || r.own(t) { // the fields of the instances of a generic type are copied where they are used
		return
	}
	if _, isStruct := t.Underlying().(*types.Struct); local && isStruct && t.TypeArgs().Len() == 0 {
		r.found = append(r.found, t.Obj())
	}
	if local {
		r.visit(t.Underlying())
	}
}
