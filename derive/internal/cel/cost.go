// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// estimator estimates the cost of Kubernetes functions and the size of values. The numbers are those of the API server,
// because the estimated cost of a rule determines whether the server accepts the rule.
type estimator struct{ root *Type }

// traversal is the cost of one pass over a string, per character.
const traversal = common.StringTraversalCostFactor

// maxFormat is the size of the regular expression that the server assumes for a format that is not a constant.
const maxFormat = 128

// EstimateSize returns the maximum size of a value, or nil if it is unknown.
func (e *estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 || e.root == nil {
		return nil
	}
	t := e.root
	for _, step := range path[1:] {
		switch step {
		case "@items", "@values":
			t = t.Elem
		case "@keys":
			if !t.isMap {
				return nil
			}
			t = &Type{}
		default:
			t = t.Fields[step]
		}
		if t == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(t.max)}
}

// size returns the estimated size of a value. The maximum of an unknown size is math.MaxUint64.
func (e *estimator) size(node checker.AstNode) checker.SizeEstimate {
	if s := node.ComputedSize(); s != nil {
		return *s
	}
	if s := e.EstimateSize(node); s != nil {
		return *s
	}
	return checker.SizeEstimate{Max: math.MaxUint64}
}

// EstimateCallCost returns the estimated cost of a call, or nil for a standard CEL function.
func (e *estimator) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	cost := func(c checker.CostEstimate) *checker.CallEstimate { return &checker.CallEstimate{CostEstimate: c} }
	one := checker.CostEstimate{Min: 1, Max: 1}
	if isAccessor(function, overload) {
		return cost(one)
	}
	if len(args) > 0 {
		switch function {
		case "url":
			s := e.size(args[0])
			return &checker.CallEstimate{CostEstimate: s.MultiplyByCostFactor(traversal), ResultSize: &s}
		case "ip", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
			return cost(e.size(args[0]).MultiplyByCostFactor(traversal))
		case "ip.isCanonical":
			return cost(e.size(args[0]).MultiplyByCostFactor(2 * traversal))
		case "validate":
			return cost(e.size(args[0]).MultiplyByCostFactor(traversal).MultiplyByCostFactor(maxFormat * common.RegexStringLengthCostFactor))
		case "containsIP", "containsCIDR":
			return cost(e.containment(function, overload, args[0]))
		case "_==_":
			return e.equality(args)
		}
	}
	if target == nil {
		return nil
	}
	return e.memberCost(function, *target, args)
}

// isAccessor reports whether a function has a constant cost.
func isAccessor(function, overload string) bool {
	switch function {
	case "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast",
		"isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan",
		"isLessThan", "compareTo", "add", "sub", "major", "minor", "patch",
		"getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery":
		return true
	case "ip":
		return overload == "cidr_ip"
	}
	return false
}

// containment returns the estimated cost of containsIP and containsCIDR.
func (e *estimator) containment(function, overload string, arg checker.AstNode) checker.CostEstimate {
	bytes := checker.SizeEstimate{Min: 4, Max: 16}
	c := bytes.Add(bytes).MultiplyByCostFactor(traversal)
	if function == "containsCIDR" {
		c = c.Add(bytes.MultiplyByCostFactor(traversal)).Add(checker.CostEstimate{Min: 1, Max: 1})
	}
	if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
		c = c.Add(checker.CostEstimate(e.size(arg)).MultiplyByCostFactor(traversal))
	}
	return c
}

// equality returns the estimated cost of a comparison of two values of a Kubernetes type.
func (e *estimator) equality(args []checker.AstNode) *checker.CallEstimate {
	if len(args) != 2 || args[0].Type().Equal(args[1].Type()) != types.True {
		return nil
	}
	limit := uint64(1)
	factor := 1.0
	switch args[0].Type().TypeName() {
	case addressType().TypeName(), networkType().TypeName(), quantityType().TypeName(), versionType().TypeName():
	case formatType().TypeName():
		limit, factor = 64, traversal
	case urlType().TypeName():
		if s := args[1].ComputedSize(); s != nil {
			limit = s.Max
		}
		factor = traversal
	default:
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: limit}.MultiplyByCostFactor(factor)}
}

// memberCost returns the estimated cost of a member function.
func (e *estimator) memberCost(function string, target checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	size := e.size(target)
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		item := itemOf(target)
		if item == nil { // a string
			return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(traversal)}
		}
		each := checker.CostEstimate{Min: 1, Max: 1}
		if kind := item.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
			each = each.Add(e.size(item).MultiplyByCostFactor(traversal))
		}
		return &checker.CallEstimate{CostEstimate: size.MultiplyByCost(each)}
	case "lowerAscii", "upperAscii", "substring", "trim":
		return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(traversal), ResultSize: &size}
	case "replace":
		if len(args) >= 2 {
			result := replaced(size, e.size(args[0]), e.size(args[1]))
			return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(2 * traversal), ResultSize: &result}
		}
	case "split":
		result := checker.SizeEstimate{Max: size.Max}
		if len(args) > 1 && args[1].Expr().Kind() == ast.LiteralKind {
			if n, ok := args[1].Expr().AsLiteral().Value().(int64); ok {
				result.Max = uint64(n)
			}
		}
		return &checker.CallEstimate{CostEstimate: size.MultiplyByCostFactor(2 * traversal), ResultSize: &result}
	case "join":
		result := e.joined(size, target, args)
		return &checker.CallEstimate{CostEstimate: result.MultiplyByCostFactor(traversal), ResultSize: &result}
	case "find", "findAll":
		if len(args) >= 1 {
			text := size.Add(checker.SizeEstimate{Min: 1, Max: 1}).MultiplyByCostFactor(traversal)
			pattern := e.size(args[0]).MultiplyByCostFactor(common.RegexStringLengthCostFactor)
			return &checker.CallEstimate{CostEstimate: text.Multiply(pattern), ResultSize: &checker.SizeEstimate{Max: size.Max}}
		}
	}
	return nil
}

// replaced returns the estimated size of the result of replace.
func replaced(size, old, with checker.SizeEstimate) checker.SizeEstimate {
	more := func(n uint64) uint64 {
		if n < math.MaxUint64 {
			n++
		}
		return n
	}
	var count, rest checker.SizeEstimate
	switch {
	case old.Min == 0: // a replacement around each character
		count.Max, rest.Max = more(size.Max), size.Max
	case with.Max <= old.Min:
		rest.Max = size.Max
	default:
		count.Max = uint64(math.Ceil(float64(size.Max) / float64(old.Min)))
	}
	switch {
	case old.Max == 0:
		count.Min, rest.Min = more(size.Min), size.Min
	case old.Max <= with.Min:
		rest.Min = size.Min
	default:
		count.Min = uint64(math.Ceil(float64(size.Min) / float64(old.Max)))
	}
	return count.Multiply(with).Add(rest)
}

// joined returns the estimated size of the result of join.
func (e *estimator) joined(size checker.SizeEstimate, target checker.AstNode, args []checker.AstNode) checker.SizeEstimate {
	var result checker.SizeEstimate
	if item := itemOf(target); item != nil {
		result = size.Multiply(e.size(item))
	}
	if len(args) > 0 {
		between := checker.SizeEstimate{Min: max(size.Min, 1) - 1, Max: max(size.Max, 1) - 1}
		result = result.Add(e.size(args[0]).Multiply(between))
	}
	return result
}

// itemOf returns a node for the items of a list, or nil for another type.
func itemOf(list checker.AstNode) checker.AstNode {
	params := list.Type().Parameters()
	if len(params) == 0 {
		return nil
	}
	var path []string
	if list.Path() != nil {
		path = append(append(path, list.Path()...), "@items")
	}
	return itemNode{path, params[0]}
}

type itemNode struct {
	path []string
	typ  *types.Type
}

func (n itemNode) Path() []string                      { return n.path }
func (n itemNode) Type() *types.Type                   { return n.typ }
func (n itemNode) Expr() ast.Expr                      { return nil }
func (n itemNode) ComputedSize() *checker.SizeEstimate { return nil }

// CallCost returns the actual cost of a call, or nil for a standard CEL function.
func (e *estimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if isAccessor(function, overload) {
		return new(uint64(1))
	}
	if len(args) == 0 {
		return nil
	}
	first := float64(sizeOf(args[0]))
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		return new(traversalCost(args[0]))
	case "url", "lowerAscii", "upperAscii", "substring", "trim", "ip", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
		return up(first * traversal)
	case "replace", "split", "ip.isCanonical":
		return up(first * 2 * traversal)
	case "join":
		return up(float64(sizeOf(result)) * 2 * traversal)
	case "_==_":
		if isExtension(args[0]) {
			return new(uint64(1))
		}
	}
	if len(args) < 2 {
		return nil
	}
	second := float64(sizeOf(args[1]))
	switch function {
	case "find", "findAll":
		return new(*up((first + 1) * traversal) * *up(second * common.RegexStringLengthCostFactor))
	case "validate":
		if f, ok := args[0].Value().(format); ok {
			return new(*up((second + 1) * traversal) * *up(float64(f.size) * common.RegexStringLengthCostFactor))
		}
	case "containsIP", "containsCIDR":
		cost := *up(2 * first * traversal)
		if function == "containsCIDR" {
			cost += *up(first * traversal) + 1
		}
		if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
			cost += *up(second * traversal)
		}
		return &cost
	}
	return nil
}

func up(f float64) *uint64 { return new(uint64(math.Ceil(f))) }

func isExtension(v ref.Val) bool {
	switch v.(type) {
	case *extension, sized:
		return true
	}
	return false
}

func sizeOf(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}

// traversalCost returns the cost of the traversal of a value.
func traversalCost(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(float64(len(v)) * traversal)
	case types.Bytes:
		return uint64(float64(len(v)) * traversal)
	case traits.Lister:
		cost := uint64(0)
		for _, item := range valuesOf(v) {
			cost += traversalCost(item)
		}
		return cost
	case traits.Mapper:
		cost := uint64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			cost += traversalCost(key) + traversalCost(v.Get(key))
		}
		return cost
	}
	return 1
}
