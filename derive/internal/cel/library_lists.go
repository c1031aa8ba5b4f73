// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// lists returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library.
func lists() functions {
	type named struct {
		name string
		typ  *cel.Type
		zero ref.Val // the initial value of a sum, or nil for types without addition
	}
	comparables := []named{
		{"int", cel.IntType, types.Int(0)},
		{"uint", cel.UintType, types.Uint(0)},
		{"double", cel.DoubleType, types.Double(0)},
		{"duration", cel.DurationType, types.Duration{}},
		{"bool", cel.BoolType, nil},
		{"timestamp", cel.TimestampType, nil},
		{"string", cel.StringType, nil},
		{"bytes", cel.BytesType, nil},
	}
	f := functions{}
	declare := func(function, id string, n named, result *cel.Type, run func(traits.Iterable) ref.Val) {
		f[function] = append(f[function], cel.MemberOverload("list_"+n.name+id, []*cel.Type{cel.ListType(n.typ)}, result,
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				if list, ok := v.(traits.Iterable); ok {
					return run(list)
				}
				return types.MaybeNoSuchOverloadErr(v)
			})))
	}
	for _, n := range comparables {
		declare("isSorted", "_is_sorted_bool", n, cel.BoolType, isSorted)
		declare("max", "_max_"+n.name, n, n.typ, func(l traits.Iterable) ref.Val { return extreme(l, "max", types.IntNegOne) })
		declare("min", "_min_"+n.name, n, n.typ, func(l traits.Iterable) ref.Val { return extreme(l, "min", types.IntOne) })
		if n.zero != nil {
			declare("sum", "_sum_"+n.name, n, n.typ, func(l traits.Iterable) ref.Val { return sum(l, n.zero) })
		}
	}
	item := cel.TypeParamType("A")
	index := func(id string, last bool) []cel.FunctionOpt {
		return []cel.FunctionOpt{cel.MemberOverload(id, []*cel.Type{cel.ListType(item), item}, cel.IntType,
			cel.BinaryBinding(func(l, v ref.Val) ref.Val { return indexOf(l, v, last) }))}
	}
	f["indexOf"], f["lastIndexOf"] = index("list_a_index_of_int", false), index("list_a_last_index_of_int", true)
	return f
}

func isSorted(l traits.Iterable) ref.Val {
	var before traits.Comparer
	for it := l.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		if before != nil && before.Compare(v) == types.IntOne {
			return types.False
		}
		var ok bool
		if before, ok = v.(traits.Comparer); !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
	}
	return types.True
}

func sum(l traits.Iterable, total ref.Val) ref.Val {
	for it := l.Iterator(); it.HasNext() == types.True; {
		adder, ok := total.(traits.Adder)
		if !ok { // an overflow
			return types.MaybeNoSuchOverloadErr(total)
		}
		total = adder.Add(it.Next())
	}
	return total
}

// extreme returns the minimum or maximum of a list. The current result is replaced if its comparison with an item
// returns replaced.
func extreme(l traits.Iterable, name string, replaced ref.Val) ref.Val {
	var best ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		if _, ok := v.(traits.Comparer); !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		if best == nil || best.(traits.Comparer).Compare(v) == replaced {
			best = v
		}
	}
	if best == nil {
		return types.NewErr("%s called on empty list", name)
	}
	return best
}

func indexOf(l, v ref.Val, last bool) ref.Val {
	list, ok := l.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(l)
	}
	found := types.Int(-1)
	for i, item := range valuesOf(list) {
		if item.Equal(v) == types.True {
			if found = types.Int(i); !last {
				break
			}
		}
	}
	return found
}
