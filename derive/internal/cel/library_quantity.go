// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

func quantityType() *cel.Type { return cel.ObjectType("kubernetes.Quantity") }

// quantities returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library.
func quantities() functions {
	t := quantityType()
	return functions{
		"quantity": {function("string_to_quantity", cel.StringType, t, func(s string) ref.Val {
			q, err := resource.ParseQuantity(s)
			if err != nil {
				return failure(err)
			}
			return quantityOf(q)
		})},
		"isQuantity": {function("is_quantity_string", cel.StringType, cel.BoolType, func(s string) ref.Val {
			_, err := resource.ParseQuantity(s)
			return types.Bool(err == nil)
		})},
		"sign": {member("quantity_sign", t, cel.IntType, func(q *resource.Quantity) ref.Val { return types.Int(q.Sign()) })},
		"isGreaterThan": {member1("quantity_is_greater_than", t, t, cel.BoolType, func(a, b *resource.Quantity) ref.Val {
			return types.Bool(a.Cmp(*b) > 0)
		})},
		"isLessThan": {member1("quantity_is_less_than", t, t, cel.BoolType, func(a, b *resource.Quantity) ref.Val {
			return types.Bool(a.Cmp(*b) < 0)
		})},
		"compareTo": {member1("quantity_compare_to", t, t, cel.IntType, func(a, b *resource.Quantity) ref.Val {
			return types.Int(a.Cmp(*b))
		})},
		"asApproximateFloat": {member("quantity_get_float", t, cel.DoubleType, func(q *resource.Quantity) ref.Val {
			return types.Double(q.AsApproximateFloat64())
		})},
		"asInteger": {member("quantity_get_int", t, cel.IntType, func(q *resource.Quantity) ref.Val {
			n, ok := q.AsInt64()
			if !ok {
				return failure(errors.New("cannot convert value to integer"))
			}
			return types.Int(n)
		})},
		"isInteger": {member("quantity_is_integer", t, cel.BoolType, func(q *resource.Quantity) ref.Val {
			_, ok := q.AsInt64()
			return types.Bool(ok)
		})},
		"add": {
			member1("quantity_add", t, t, t, func(a, b *resource.Quantity) ref.Val { return added(a, *b, false) }),
			member1("quantity_add_int", t, cel.IntType, t, func(a *resource.Quantity, n int64) ref.Val {
				return added(a, *resource.NewQuantity(n, resource.DecimalExponent), false)
			}),
		},
		"sub": {
			member1("quantity_sub", t, t, t, func(a, b *resource.Quantity) ref.Val { return added(a, *b, true) }),
			member1("quantity_sub_int", t, cel.IntType, t, func(a *resource.Quantity, n int64) ref.Val {
				return added(a, *resource.NewQuantity(n, resource.DecimalExponent), true)
			}),
		},
	}
}

func added(a *resource.Quantity, b resource.Quantity, negative bool) ref.Val {
	q := a.DeepCopy()
	if negative {
		q.Sub(b)
	} else {
		q.Add(b)
	}
	return quantityOf(q)
}

func quantityOf(q resource.Quantity) ref.Val {
	return &extension{quantityType(), &q, q.String(), func(other any) bool {
		o, ok := other.(*resource.Quantity)
		return ok && q.Equal(*o)
	}}
}
