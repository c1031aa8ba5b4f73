// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// regexes returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-regex-library.
func regexes() functions {
	text, strs := cel.StringType, cel.ListType(cel.StringType)
	return functions{
		"find": {cel.MemberOverload("string_find_string", []*cel.Type{text, text}, text,
			cel.BinaryBinding(func(in, re ref.Val) ref.Val { return find(nil, in, re) }))},
		"findAll": {
			cel.MemberOverload("string_find_all_string", []*cel.Type{text, text}, strs,
				cel.BinaryBinding(func(in, re ref.Val) ref.Val { return findAll(nil, in, re) })),
			cel.MemberOverload("string_find_all_string_int", []*cel.Type{text, text, cel.IntType}, strs,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val { return findAll(nil, args...) })),
		},
	}
}

// finder searches with a precompiled regular expression, or compiles the one in the arguments if re is nil.
type finder func(re *regexp.Regexp, args ...ref.Val) ref.Val

// expression returns the input string and the regular expression.
func expression(re *regexp.Regexp, args []ref.Val) (string, *regexp.Regexp, ref.Val) {
	in, ok := args[0].Value().(string)
	if !ok {
		return "", nil, types.MaybeNoSuchOverloadErr(args[0])
	}
	if re != nil {
		return in, re, nil
	}
	pattern, ok := args[1].Value().(string)
	if !ok {
		return "", nil, types.MaybeNoSuchOverloadErr(args[1])
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", nil, types.NewErr("Illegal regex: %v", err.Error())
	}
	return in, re, nil
}

func find(re *regexp.Regexp, args ...ref.Val) ref.Val {
	in, re, err := expression(re, args)
	if err != nil {
		return err
	}
	return types.String(re.FindString(in))
}

func findAll(re *regexp.Regexp, args ...ref.Val) ref.Val {
	n := int64(-1)
	if len(args) == 3 {
		var ok bool
		if n, ok = args[2].Value().(int64); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	in, re, err := expression(re, args)
	if err != nil {
		return err
	}
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(in, int(n)))
}

// compiledFind and compiledFindAll compile constant regular expressions once, and reject rules with invalid ones.
var (
	compiledFind    = compiled("find", find)       //nolint:gochecknoglobals // a constant
	compiledFindAll = compiled("findAll", findAll) //nolint:gochecknoglobals // a constant
)

func compiled(name string, f finder) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function:   name,
		RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				return f(re, args...)
			}), nil
		},
	}
}
