// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// functions contains overloads by function name.
type functions map[string][]cel.FunctionOpt

// library returns an environment option that adds functions and program options.
func library(name string, f functions, options ...cel.ProgramOption) cel.EnvOption {
	lib := lib{program: options}
	for name, overloads := range f {
		lib.compile = append(lib.compile, cel.Function(name, overloads...))
	}
	if name == "" {
		return cel.Lib(lib)
	}
	return cel.Lib(namedLib{lib, name})
}

type lib struct {
	compile []cel.EnvOption
	program []cel.ProgramOption
}

func (l lib) CompileOptions() []cel.EnvOption     { return l.compile }
func (l lib) ProgramOptions() []cel.ProgramOption { return l.program }

type namedLib struct {
	lib
	name string
}

func (l namedLib) LibraryName() string { return l.name }

// function declares a function with one argument.
func function[A any](id string, arg, result *cel.Type, f func(A) ref.Val) cel.FunctionOpt {
	return cel.Overload(id, []*cel.Type{arg}, result, unary(f))
}

// member declares a member function without arguments.
func member[A any](id string, of, result *cel.Type, f func(A) ref.Val) cel.FunctionOpt {
	return cel.MemberOverload(id, []*cel.Type{of}, result, unary(f))
}

// member1 declares a member function with one argument.
func member1[A, B any](id string, of, arg, result *cel.Type, f func(A, B) ref.Val) cel.FunctionOpt {
	return cel.MemberOverload(id, []*cel.Type{of, arg}, result, binary(f))
}

func unary[A any](f func(A) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		a, ok := arg.Value().(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(a)
	})
}

func binary[A, B any](f func(A, B) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(left, right ref.Val) ref.Val {
		a, ok := left.Value().(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(left)
		}
		b, ok := right.Value().(B)
		if !ok {
			return types.MaybeNoSuchOverloadErr(right)
		}
		return f(a, b)
	})
}

// extension is a value of a type that Kubernetes adds to CEL.
type extension struct {
	typ  *cel.Type
	v    any
	text string         // the result of the conversion to a string
	same func(any) bool // whether another value of the type is equal
}

// ConvertToNative converts to the Go value, or to a string.
func (x *extension) ConvertToNative(t reflect.Type) (any, error) {
	switch {
	case reflect.TypeOf(x.v).AssignableTo(t):
		return x.v, nil
	case t.Kind() == reflect.String:
		return x.text, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", x.typ, t)
}

// ConvertToType converts to the type itself. Addresses and networks are opaque types, which also convert to a string.
func (x *extension) ConvertToType(t ref.Type) ref.Val {
	if t == types.StringType && x.typ.Kind() == types.OpaqueKind {
		return types.String(x.text)
	}
	return convertTo(x, x.typ, t)
}

// Equal compares with a value of the same type.
func (x *extension) Equal(other ref.Val) ref.Val {
	if other.Type().TypeName() != x.typ.TypeName() {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(x.same(other.Value()))
}

func (x *extension) Type() ref.Type { return x.typ }
func (x *extension) Value() any     { return x.v }

// sized is an extension with a size in bytes.
type sized struct {
	*extension
	bytes int
}

func (s sized) Size() ref.Val { return types.Int(s.bytes) }

func failure(err error) ref.Val { return types.WrapErr(err) }
