// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applytypes

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/emit"
	"github.com/kube-go/sdk/derive/internal/shape"
)

// structType returns the source of the twin of a struct type.
func (w *writer) structType(st *types.Struct, documented bool) string {
	const open = "struct {\n"
	var b strings.Builder
	b.WriteString(open)
	afterMeta := false
	for i := range st.NumFields() {
		f := st.Field(i)
		tag, _ := reflect.StructTag(st.Tag(i)).Lookup("json")
		if tag == "-" || !shape.Written(f) {
			continue
		}
		doc := ""
		if documented {
			doc = w.Doc(f)
		}
		if b.Len() > len(open) && (doc != "" || afterMeta) {
			b.WriteString("\n")
		}
		if doc != "" {
			b.WriteString(emit.Comment(doc))
		}
		b.WriteString(w.field(f, tag))
		afterMeta = f.Embedded() && isMeta(f.Type()) && f.Name() == "ObjectMeta"
	}
	b.WriteString("}")
	return b.String()
}

// field returns the source of a field, with the JSON name of the original.
func (w *writer) field(f *types.Var, tag string) string {
	name, options, _ := strings.Cut(tag, ",")
	t := pointed(f.Type())
	_, isStruct := t.Underlying().(*types.Struct)
	if f.Embedded() && name == "" && isStruct {
		return fmt.Sprintf("%s `json:\",inline\"`\n", w.value(t, f))
	}
	if name == "" {
		name = f.Name()
	}
	quoted := ""
	if slices.Contains(strings.Split(options, ","), "string") {
		quoted = ",string"
	}
	if f.Embedded() {
		if isMeta(t) { // empty metadata is the same as none
			return fmt.Sprintf("%s `json:\"%s,omitzero\"`\n", w.value(t, f), name)
		}
		return fmt.Sprintf("*%s `json:\"%s,omitempty%s\"`\n", w.value(t, f), name, quoted)
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Interface:
		return fmt.Sprintf("%s %s `json:\"%s,omitzero\"`\n", f.Name(), w.value(t, f), name)
	}
	return fmt.Sprintf("%s *%s `json:\"%s,omitempty%s\"`\n", f.Name(), w.value(t, f), name, quoted)
}

// pointed returns the type behind all pointers.
func pointed(t types.Type) types.Type {
	for {
		p, ok := t.Underlying().(*types.Pointer)
		if !ok {
			return types.Unalias(t)
		}
		t = p.Elem()
	}
}

// value returns the source of the type that replaces another one, or of the type itself if all fields in it are
// optional. by is the object that has the type.
func (w *writer) value(t types.Type, by types.Object) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return w.named(t, by)
	case *types.Pointer:
		if changes(t.Elem()) { // null is the same as an empty struct
			return w.value(t.Elem(), by)
		}
		return "*" + w.value(t.Elem(), by)
	case *types.Slice:
		return "[]" + w.value(t.Elem(), by)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.value(t.Elem(), by))
	case *types.Map:
		return fmt.Sprintf("map[%s]%s", w.value(t.Key(), by), w.value(t.Elem(), by))
	case *types.Struct:
		return w.structType(t, by.Pkg() == w.Package)
	default:
		if t == types.Typ[types.Invalid] {
			w.Refused(by, "no apply struct: its type is unknown")
			return "any"
		}
		return w.im.TypeString(t)
	}
}

// named returns the source of the type that replaces a named type.
func (w *writer) named(t *types.Named, by types.Object) string {
	_, isStruct := t.Underlying().(*types.Struct)
	writesItself := hasMethod(t, "MarshalJSON") || hasMethod(t, "MarshalText")
	switch {
	case isStruct && !writesItself && !isMeta(t):
		return w.twinOf(t)
	case !writesItself && !isMeta(t) && (!w.canName(t) || changes(t)):
		if slices.ContainsFunc(w.open, func(outer types.Type) bool { return types.Identical(outer, t) }) {
			w.Refused(by, fmt.Sprintf("no apply struct: %s contains itself: use a named struct for its elements", t))
			break
		}
		w.open = append(w.open, t)
		defer func() { w.open = w.open[:len(w.open)-1] }()
		return w.value(t.Underlying(), by)
	case !w.canName(t):
		w.Refused(by, fmt.Sprintf("no apply struct: %s has its own encoding, and package %s can't refer to it: export it", t, w.Package.Name()))
	}
	return w.im.TypeString(t)
}

// canName reports whether the package can refer to a type.
func (w *writer) canName(t *types.Named) bool {
	return t.Obj().Exported() || t.Obj().Pkg() == nil || t.Obj().Pkg() == w.Package
}

// changes reports whether another type replaces a type, which is an element of the outer types.
func changes(t types.Type, outer ...types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Struct:
		return true
	case *types.Pointer:
		return changes(t.Elem(), outer...)
	case *types.Named:
		contained := slices.ContainsFunc(outer, func(o types.Type) bool { return types.Identical(o, t) })
		if contained || hasMethod(t, "MarshalJSON") || hasMethod(t, "MarshalText") || isMeta(t) {
			return false
		}
		return changes(t.Underlying(), append(outer, t)...)
	case *types.Slice:
		return changes(t.Elem(), outer...)
	case *types.Array:
		return changes(t.Elem(), outer...)
	case *types.Map:
		return changes(t.Elem(), outer...)
	}
	return false
}

// hasMethod reports whether encoding/json uses a method of a type.
func hasMethod(t types.Type, name string) bool {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
	_, ok := obj.(*types.Func)
	return ok
}

// isMeta reports whether a type is a struct of metadata, whose own tags omit empty fields.
func isMeta(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != emit.MetaPath {
		return false
	}
	switch named.Obj().Name() {
	case "TypeMeta", "ObjectMeta", "ListMeta":
		return true
	}
	return false
}
