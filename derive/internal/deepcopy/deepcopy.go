// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package deepcopy

import (
	"fmt"
	"go/types"
	"go/version"
	"io"
	"strconv"
	"strings"
)

// Writer writes the methods of the types of a package.
type Writer struct {
	Out     io.Writer
	Package *types.Package

	// TypeString formats a type as in the sources of the package.
	TypeString func(types.Type) string

	// Method returns the method of a type that is declared or will be generated, or nil. It must not return methods of
	// embedded fields.
	Method func(*types.Named, string) *types.Func

	// Generated reports whether the methods of a type are generated in this run.
	Generated func(*types.Named) bool

	stack  []types.Type
	plains map[types.Type]bool // see plain
}

// RefusedError is the error for a type that can't be copied.
type RefusedError struct {
	Field  *types.Var // the innermost field with the type, or nil for the type itself
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Type writes DeepCopyInto and DeepCopy of a struct, a map or a slice type, except for methods that exist.
//
// Errors: [*RefusedError].
func (w *Writer) Type(obj *types.TypeName) error {
	var body strings.Builder
	var err error
	write := w.methods
	own := w.byHand(obj)
	in, out := w.params()
	switch u := obj.Type().Underlying().(type) {
	case *types.Struct:
		if !own.exists() {
			err = w.fields(&body, u, in, out, 0)
		}
	case *types.Map:
		write = w.valueMethods
		if !own.exists() {
			err = w.mapping(&body, obj.Type(), u, in, "(*"+out+")", 0)
		}
	case *types.Slice:
		write = w.valueMethods
		if !own.exists() {
			err = w.slice(&body, obj.Type(), u, in, "(*"+out+")", 0)
		}
	default:
		err = refuse("%s is neither a struct nor a map nor a slice", w.TypeString(obj.Type()))
	}
	if err != nil {
		return err
	}
	write(obj.Name(), body.String(), own)
	return nil
}

// methods writes DeepCopyInto, with statements that follow the shallow copy, and DeepCopy.
func (w *Writer) methods(name, statements string, own written) {
	in, out := w.params()
	statements = fmt.Sprintf("\t*%s = *%s\n", out, in) + statements
	if own.copies != "" {
		statements = "\t" + own.copies + "\n"
	}
	if !own.into {
		fmt.Fprintf(w.Out, `
// DeepCopyInto sets %[4]s to a deep copy of %[3]s. Neither may be nil.
func (%[3]s *%[1]s) DeepCopyInto(%[4]s *%[1]s) {
%[2]s}
`, name, statements, in, out)
	}
	if own.copies == "" {
		fmt.Fprintf(w.Out, `
// DeepCopy returns a deep copy, or nil for nil.
func (%[2]s *%[1]s) DeepCopy() *%[1]s {
	if %[2]s == nil {
		return nil
	}
	%[3]s := new(%[1]s)
	%[2]s.DeepCopyInto(%[3]s)
	return %[3]s
}
`, name, in, out)
	}
}

// valueMethods writes the methods of a map or slice type.
func (w *Writer) valueMethods(name, statements string, own written) {
	in, out := w.params()
	statements = fmt.Sprintf("\t*%s = nil\n", out) + statements
	if own.copies != "" {
		statements = "\t" + own.copies + "\n"
	}
	if !own.into {
		fmt.Fprintf(w.Out, `
// DeepCopyInto sets %[4]s, which must not be nil, to a deep copy of %[3]s.
func (%[3]s %[1]s) DeepCopyInto(%[4]s *%[1]s) {
%[2]s}
`, name, statements, in, out)
	}
	if own.copies == "" {
		fmt.Fprintf(w.Out, `
// DeepCopy returns a deep copy, or nil for nil.
func (%[2]s %[1]s) DeepCopy() %[1]s {
	if %[2]s == nil {
		return nil
	}
	var %[3]s %[1]s
	%[2]s.DeepCopyInto(&%[3]s)
	return %[3]s
}
`, name, in, out)
	}
}

// written describes the existing methods of a type.
type written struct {
	into   bool
	copies string // the statement that calls the existing DeepCopy, or empty
}

// exists reports whether a method exists. The other one calls it, so the fields are not copied one by one.
func (m written) exists() bool { return m.into || m.copies != "" }

func (w *Writer) byHand(obj *types.TypeName) written {
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return written{}
	}
	own := written{into: w.Method(named, "DeepCopyInto") != nil}
	if m := w.Method(named, "DeepCopy"); m != nil {
		in, out := w.params()
		own.copies = fmt.Sprintf("*%s = %s.DeepCopy()", out, in)
		if r := m.Signature().Results(); r.Len() == 1 {
			if _, isPointer := r.At(0).Type().(*types.Pointer); isPointer {
				own.copies = fmt.Sprintf("*%s = *%s.DeepCopy()", out, in)
			}
		}
	}
	return own
}

// Kind writes the methods of a generated kind, which has metadata, a spec, and a status unless it is nil.
//
// Errors: [*RefusedError], with the type that can't be copied.
func (w *Writer) Kind(name string, spec, status *types.TypeName) (*types.TypeName, error) {
	var body strings.Builder
	in, out := w.params()
	fmt.Fprintf(&body, "\t%[1]s.ObjectMeta.DeepCopyInto(&%[2]s.ObjectMeta)\n", in, out)
	for _, f := range []struct {
		name string
		typ  *types.TypeName
	}{{"Spec", spec}, {"Status", status}} {
		if f.typ == nil {
			continue
		}
		named, ok := types.Unalias(f.typ.Type()).(*types.Named)
		if ok && (w.Generated(named) || w.Method(named, "DeepCopyInto") != nil) {
			fmt.Fprintf(&body, "\t%[2]s.%[1]s.DeepCopyInto(&%[3]s.%[1]s)\n", f.name, in, out)
		} else if err := w.value(&body, f.typ.Type(), in+"."+f.name, out+"."+f.name, 0); err != nil { // of an alias
			return f.typ, err
		}
	}
	w.methods(name, body.String(), written{})
	return nil, nil
}

// Object writes DeepCopyObject, a method of runtime.Object. The argument is the name of the imported package.
func (w *Writer) Object(name, runtime string) {
	fmt.Fprintf(w.Out, `
// DeepCopyObject returns a deep copy as a runtime.Object, or nil for nil.
func (in *%[1]s) DeepCopyObject() %[2]s.Object {
	if out := in.DeepCopy(); out != nil {
		return out
	}
	return nil
}
`, name, runtime)
}

func refuse(format string, args ...any) *RefusedError {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// fields copies the fields of a struct that a shallow copy shares.
func (w *Writer) fields(b *strings.Builder, st *types.Struct, in, out string, depth int) error {
	for f := range st.Fields() {
		if w.plain(f.Type()) {
			continue
		}
		if f.Name() == "_" {
			continue
		}
		if !f.Exported() && f.Pkg() != w.Package {
			return refuse("field %s of package %s is not accessible: add a DeepCopyInto to its type", f.Name(), f.Pkg().Name())
		}
		if err := w.value(b, f.Type(), in+"."+f.Name(), out+"."+f.Name(), depth); err != nil {
			if e, ok := err.(*RefusedError); ok && e.Field == nil { //nolint:errorlint // never wrapped
				e.Field = f
			}
			return err
		}
	}
	return nil
}

// value writes statements that turn out, a shallow copy of in, into a deep copy.
func (w *Writer) value(b *strings.Builder, t types.Type, in, out string, depth int) error {
	t = types.Unalias(t)
	if w.plain(t) {
		return nil
	}
	if named, ok := t.(*types.Named); ok {
		if done, err := w.byMethod(b, named, in, out); done || err != nil {
			return err
		}
	}
	for _, outer := range w.stack {
		if types.Identical(outer, t) {
			return refuse("%s contains itself, and has no DeepCopyInto", w.TypeString(t))
		}
	}
	w.stack = append(w.stack, t)
	defer func() { w.stack = w.stack[:len(w.stack)-1] }()
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return w.pointer(b, u, in, out, depth)
	case *types.Slice:
		return w.slice(b, t, u, in, out, depth)
	case *types.Array:
		return w.each(b, u.Elem(), in, out, depth)
	case *types.Map:
		return w.mapping(b, t, u, in, out, depth)
	case *types.Struct:
		return w.fields(b, u, in, out, depth)
	case *types.Interface:
		return w.iface(b, t, u, in, out)
	}
	if t == types.Typ[types.Invalid] {
		return refuse("its type is unknown")
	}
	return refuse("%s can't be copied", w.TypeString(t))
}

// byMethod copies a value with a method of its type.
func (w *Writer) byMethod(b *strings.Builder, t *types.Named, in, out string) (bool, error) {
	if w.Generated(t) || w.Method(t, "DeepCopyInto") != nil {
		call := fmt.Sprintf("\t%s.DeepCopyInto(&%s)\n", in, out)
		if isReference(t) { // other methods may turn nil into an empty value
			call = fmt.Sprintf("\tif %s != nil {\n%s\t}\n", in, call)
		}
		b.WriteString(call)
		return true, nil
	}
	m := w.Method(t, "DeepCopy")
	if m == nil || m.Signature().Params().Len() != 0 || m.Signature().Results().Len() != 1 {
		return false, nil
	}
	switch result := m.Signature().Results().At(0).Type(); {
	case types.Identical(result, t):
		fmt.Fprintf(b, "\t%s = %s.DeepCopy()\n", out, in)
	case types.Identical(result, types.NewPointer(t)):
		fmt.Fprintf(b, "\t%s = *%s.DeepCopy()\n", out, in)
	default:
		return false, refuse("DeepCopy of %s returns %s", w.TypeString(t), w.TypeString(result))
	}
	return true, nil
}

// isReference reports whether a type is a map or a slice, whose values may be nil.
func isReference(t *types.Named) bool {
	switch t.Underlying().(type) {
	case *types.Map, *types.Slice:
		return true
	}
	return false
}

func (w *Writer) pointer(b *strings.Builder, t *types.Pointer, in, out string, depth int) error {
	fmt.Fprintf(b, "\tif %s != nil {\n", in)
	defer b.WriteString("\t}\n")
	elem := types.Unalias(t.Elem())
	if named, ok := elem.(*types.Named); ok && !w.plain(elem) && !isReference(named) {
		if w.Generated(named) || w.Method(named, "DeepCopyInto") != nil {
			fmt.Fprintf(b, "\t%s = new(%s)\n\t%s.DeepCopyInto(%s)\n", out, w.TypeString(elem), in, out)
			return nil
		}
	}
	if w.plain(elem) && version.Compare(w.Package.GoVersion(), "go1.26") >= 0 {
		fmt.Fprintf(b, "\t%s = new(*%s)\n", out, in)
		return nil
	}
	fmt.Fprintf(b, "\t%s = new(%s)\n\t*%s = *%s\n", out, w.TypeString(elem), out, in)
	return w.value(b, elem, "(*"+in+")", "(*"+out+")", depth)
}

func (w *Writer) slice(b *strings.Builder, named types.Type, t *types.Slice, in, out string, depth int) error {
	fmt.Fprintf(b, "\tif %s != nil {\n\t%s = make(%s, len(%s))\n\tcopy(%s, %s)\n", in, out, w.TypeString(named), in, out, in)
	defer b.WriteString("\t}\n")
	return w.each(b, t.Elem(), in, out, depth)
}

// each copies the elements of a slice or an array.
func (w *Writer) each(b *strings.Builder, elem types.Type, in, out string, depth int) error {
	if w.plain(elem) {
		return nil
	}
	i := w.local("i", depth)
	fmt.Fprintf(b, "\tfor %s := range %s {\n", i, in)
	defer b.WriteString("\t}\n")
	return w.value(b, elem, in+"["+i+"]", out+"["+i+"]", depth+1)
}

func (w *Writer) mapping(b *strings.Builder, named types.Type, t *types.Map, in, out string, depth int) error {
	key, val, c := w.local("key", depth), w.local("val", depth), w.local("c", depth)
	fmt.Fprintf(b, "\tif %s != nil {\n\t%s = make(%s, len(%s))\n\tfor %s, %s := range %s {\n", in, out, w.TypeString(named), in, key, val, in)
	defer b.WriteString("\t}\n\t}\n")
	if w.plain(t.Elem()) {
		fmt.Fprintf(b, "\t%s[%s] = %s\n", out, key, val)
		return nil
	}
	fmt.Fprintf(b, "\t%s := %s\n", c, val)
	if err := w.value(b, t.Elem(), val, c, depth+1); err != nil {
		return err
	}
	fmt.Fprintf(b, "\t%s[%s] = %s\n", out, key, c)
	return nil
}

// params returns the names of the receiver and the parameter of DeepCopyInto.
func (w *Writer) params() (in, out string) { return w.local("in", 0), w.local("out", 0) }

// local returns the name of a variable that hides no type of the package.
func (w *Writer) local(name string, depth int) string {
	if depth > 0 {
		name += strconv.Itoa(depth)
	}
	for w.Package.Scope().Lookup(name) != nil {
		name += "_"
	}
	return name
}

// IsLocal reports whether a variable of the written methods may have a name.
func IsLocal(name string) bool {
	switch strings.TrimRight(name, "0123456789") {
	case "in", "out", "i", "key", "val", "c":
		return true
	}
	return false
}

// iface copies a value of an interface type that has a method for it.
func (w *Writer) iface(b *strings.Builder, t types.Type, u *types.Interface, in, out string) error {
	for m := range u.Methods() {
		r := m.Signature().Results()
		if strings.HasPrefix(m.Name(), "DeepCopy") && m.Signature().Params().Len() == 0 && r.Len() == 1 && types.Identical(r.At(0).Type(), t) {
			fmt.Fprintf(b, "\tif %s != nil {\n\t%s = %s.%s()\n\t}\n", in, out, in, m.Name())
			return nil
		}
	}
	return refuse("%s is an interface without a method for copies: use a struct type", w.TypeString(t))
}

// plain reports whether a shallow copy of a type shares no mutable memory. It stores the result: a type can be part of
// others in many ways.
func (w *Writer) plain(t types.Type) bool {
	t = types.Unalias(t)
	if known, ok := w.plains[t]; ok {
		return known
	}
	if w.plains == nil {
		w.plains = make(map[types.Type]bool)
	}
	w.plains[t] = true // within the type: the rest of it decides
	w.plains[t] = w.isPlain(t)
	return w.plains[t]
}

func (w *Writer) isPlain(t types.Type) bool {
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() != nil {
		switch named.Obj().Pkg().Path() {
		case "time", "net/netip": // what a time or an address refers to never changes: its location, or its zone
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.Invalid
	case *types.Signature, *types.Chan:
		return true
	case *types.Array:
		return w.plain(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !w.plain(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}
