// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"

	"github.com/kube-go/sdk/core/wire"
)

// Step describes the change of one element of a list.
type Step struct {
	From, To int  // indexes; -1 if the element was added or removed
	Kin      bool // both exist, and are probably the same element, changed or not
}

// maxCells limits the time and memory of an alignment. Longer lists are compared index by index.
const maxCells = 1 << 20

// Align returns the changes from one list to another. It finds as few changes as possible. Elements correspond if they
// have the same name, or are equal. A name that several elements of a list have does not count. The indexes of the
// steps ascend.
func Align(from, to []any) []Step { return compare(from, to).align() }

// Origins returns, for each element of a list, the index of the element of an earlier list that it was made of, or -1.
// Elements with a name come from the one with the same name. Others come from an equal one, if possible from one in the
// same place. The others without a name come from the elements between the same neighbors, if there are as many of
// them.
func Origins(from, to []any) []int {
	l := compare(from, to)
	fromKeys, toKeys := keys(l.fromNames, from), keys(l.toNames, to)
	origins, used := slices.Repeat([]int{-1}, len(to)), make([]bool, len(from))
	pair := func(i, j int) { origins[j], used[i] = i, true }
	start, fromEnd, toEnd := 0, len(from), len(to)
	for ; start < fromEnd && start < toEnd && fromKeys[start] == toKeys[start]; start++ {
		pair(start, start)
	}
	for ; fromEnd > start && toEnd > start && fromKeys[fromEnd-1] == toKeys[toEnd-1]; fromEnd, toEnd = fromEnd-1, toEnd-1 {
		pair(fromEnd-1, toEnd-1)
	}
	free := map[string][]int{}
	for i := start; i < fromEnd; i++ {
		free[fromKeys[i]] = append(free[fromKeys[i]], i)
	}
	for j := start; j < toEnd; j++ {
		if left := free[toKeys[j]]; len(left) > 0 {
			pair(left[0], j)
			free[toKeys[j]] = left[1:]
		}
	}
	for j := 0; j < len(to); j++ {
		first, before := j, -1 // the elements from first on follow the element of from with the index before
		if j > 0 {
			before = origins[j-1]
		}
		for j < len(to) && origins[j] < 0 {
			j++
		}
		after := len(from)
		if j < len(to) {
			after = origins[j]
		}
		l.pairByPlace(origins, used, [2]int{before + 1, after}, [2]int{first, j})
	}
	return origins
}

// pairByPlace sets the origins of elements between two neighbors to the unused elements of from between the same
// neighbors, if there are as many.
func (l *lists) pairByPlace(origins []int, used []bool, inFrom, inTo [2]int) {
	var old, changed []int
	for i := inFrom[0]; i < inFrom[1]; i++ {
		if !used[i] && l.fromNames[i] == "" {
			old = append(old, i)
		}
	}
	for j := inTo[0]; j < inTo[1]; j++ {
		if l.toNames[j] == "" {
			changed = append(changed, j)
		}
	}
	if len(old) != len(changed) {
		return
	}
	for n, j := range changed {
		origins[j], used[old[n]] = old[n], true
	}
}

// Key returns what identifies an element of a list: its name, or its content if it has none.
func Key(v any) string { return keyOf(nameOf(v), v) }

// keys returns the keys of elements with the given names.
func keys(names []string, elements []any) []string {
	keys := make([]string, len(elements))
	for i, v := range elements {
		keys[i] = keyOf(names[i], v)
	}
	return keys
}

func keyOf(name string, v any) string {
	if name != "" {
		return name
	}
	data, _ := wire.MarshalJSON(v) // can't fail, and differs from any name
	return string(data)
}

// nameOf returns the field that names an element with its value, or the empty string.
func nameOf(v any) string {
	key, name := identity(v)
	if name == "" {
		return ""
	}
	return key + " " + name
}

// lists are two lists with the names of their elements.
type lists struct {
	from, to           []any
	fromNames, toNames []string
}

func compare(from, to []any) *lists {
	l := &lists{from, to, make([]string, len(from)), make([]string, len(to))}
	ambiguous := map[string]bool{}
	name := func(elements []any, names []string) {
		seen := make(map[string]bool, len(elements))
		for i, v := range elements {
			names[i] = nameOf(v)
			ambiguous[names[i]] = ambiguous[names[i]] || seen[names[i]]
			seen[names[i]] = true
		}
	}
	name(from, l.fromNames)
	name(to, l.toNames)
	for _, names := range [][]string{l.fromNames, l.toNames} {
		for i, name := range names {
			if ambiguous[name] { // such as two mounts of one volume
				names[i] = ""
			}
		}
	}
	return l
}

// same reports whether two elements correspond: they have the same name, or are equal and have none. A name that
// several elements of a list have does not count.
func (l *lists) same(i, j int) bool {
	if l.fromNames[i] != "" || l.toNames[j] != "" {
		return l.fromNames[i] == l.toNames[j]
	}
	return Equal(l.from[i], l.to[j])
}

// align implements [Align].
func (l *lists) align() []Step {
	steps := make([]Step, 0, max(len(l.from), len(l.to)))
	start, fromEnd, toEnd := 0, len(l.from), len(l.to)
	for start < fromEnd && start < toEnd && l.same(start, start) {
		steps = append(steps, Step{start, start, true})
		start++
	}
	for fromEnd > start && toEnd > start && l.same(fromEnd-1, toEnd-1) {
		fromEnd--
		toEnd--
	}
	i, j := start, start
	for _, match := range l.common([2]int{start, fromEnd}, [2]int{start, toEnd}) {
		steps = l.appendGap(steps, [2]int{i, match.From}, [2]int{j, match.To})
		i, j = match.From+1, match.To+1
		steps = append(steps, match)
	}
	steps = l.appendGap(steps, [2]int{i, fromEnd}, [2]int{j, toEnd})
	for k := range len(l.from) - fromEnd {
		steps = append(steps, Step{fromEnd + k, toEnd + k, true})
	}
	return steps
}

// appendGap appends the steps of elements without a counterpart, from one index to another in both lists.
func (l *lists) appendGap(steps []Step, inFrom, inTo [2]int) []Step {
	i, j := inFrom[0], inTo[0]
	for ; i < inFrom[1] && j < inTo[1]; i, j = i+1, j+1 {
		aKey, a := identity(l.from[i])
		bKey, b := identity(l.to[j])
		steps = append(steps, Step{i, j, a == "" || b == "" || a == b && aKey == bKey})
	}
	for ; i < inFrom[1]; i++ {
		steps = append(steps, Step{From: i, To: -1})
	}
	for ; j < inTo[1]; j++ {
		steps = append(steps, Step{From: -1, To: j})
	}
	return steps
}

// common returns a longest common subsequence of the elements from one index to another in both lists.
func (l *lists) common(inFrom, inTo [2]int) []Step {
	rows, columns := inFrom[1]-inFrom[0], inTo[1]-inTo[0]
	if rows == 0 || columns == 0 || rows > maxCells/columns {
		return nil
	}
	width := columns + 1
	longest := make([]int32, (rows+1)*width) // from the indexes to the ends
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if l.same(inFrom[0]+i, inTo[0]+j) {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var steps []Step
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case l.same(inFrom[0]+i, inTo[0]+j):
			steps = append(steps, Step{inFrom[0] + i, inTo[0] + j, true})
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return steps
}

// identity returns the field that names an element of a list, as far as the conventions of Kubernetes define one, and
// the name. Both are empty for other elements.
func identity(v any) (key, name string) {
	object, ok := v.(map[string]any)
	if !ok {
		return "", ""
	}
	for _, key := range [...]string{"name", "type", "key"} {
		if name, _ := object[key].(string); name != "" {
			return key, name
		}
	}
	return "", ""
}
