// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import "slices"

// Step describes the change of one element of a list.
type Step struct {
	From, To int  // indexes; -1 if the element was added or removed
	Kin      bool // both exist, and are probably the same element, changed or not
}

// maxCells limits the time and memory of an alignment. Longer lists are compared index by index.
const maxCells = 1 << 20

// Align returns the changes from one list to another. It finds as few changes as possible. Elements correspond if they
// are equal or have the same name. The indexes of the steps ascend.
func Align(from, to []any) []Step {
	steps := make([]Step, 0, max(len(from), len(to)))
	start, fromEnd, toEnd := 0, len(from), len(to)
	for start < fromEnd && start < toEnd && same(from[start], to[start]) {
		steps = append(steps, Step{start, start, true})
		start++
	}
	for fromEnd > start && toEnd > start && same(from[fromEnd-1], to[toEnd-1]) {
		fromEnd--
		toEnd--
	}
	i, j := start, start
	for _, match := range common(from[start:fromEnd], to[start:toEnd]) {
		steps = appendGap(steps, from, to, [2]int{i, start + match.From}, [2]int{j, start + match.To})
		i, j = start+match.From+1, start+match.To+1
		steps = append(steps, Step{i - 1, j - 1, true})
	}
	steps = appendGap(steps, from, to, [2]int{i, fromEnd}, [2]int{j, toEnd})
	for k := range len(from) - fromEnd {
		steps = append(steps, Step{fromEnd + k, toEnd + k, true})
	}
	return steps
}

// appendGap appends the steps of elements without a counterpart, from one index to another in both lists.
func appendGap(steps []Step, from, to []any, inFrom, inTo [2]int) []Step {
	i, j := inFrom[0], inTo[0]
	for ; i < inFrom[1] && j < inTo[1]; i, j = i+1, j+1 {
		a, b := identity(from[i]), identity(to[j])
		steps = append(steps, Step{i, j, a == "" || b == "" || a == b})
	}
	for ; i < inFrom[1]; i++ {
		steps = append(steps, Step{From: i, To: -1})
	}
	for ; j < inTo[1]; j++ {
		steps = append(steps, Step{From: -1, To: j})
	}
	return steps
}

// common returns a longest common subsequence.
func common(from, to []any) []Step {
	if len(from) == 0 || len(to) == 0 || len(from) > maxCells/len(to) {
		return nil
	}
	width := len(to) + 1
	longest := make([]int32, (len(from)+1)*width) // from the indexes to the ends
	for i, a := range slices.Backward(from) {
		for j, b := range slices.Backward(to) {
			if same(a, b) {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var steps []Step
	for i, j := 0, 0; i < len(from) && j < len(to); {
		switch {
		case same(from[i], to[j]):
			steps = append(steps, Step{i, j, true})
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return steps
}

func same(a, b any) bool {
	if name := identity(a); name != "" {
		return name == identity(b)
	}
	return Equal(a, b)
}

// identity returns the name of an element of a list, as far as the conventions of Kubernetes define one. It returns an
// empty string for other elements.
func identity(v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	for _, key := range [...]string{"name", "type", "key"} {
		if name, _ := object[key].(string); name != "" {
			return key + " " + name
		}
	}
	return ""
}
