// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/wire"
)

func of(t testing.TB, text string) any {
	t.Helper()
	value, err := tree.Of(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestEqualComparesValuesAsJSON(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		want       bool
	}{
		{"the same integer", `1`, `1.0`, true},
		{"zeros of both signs", `0`, `-0.0`, true},
		{"an integer that is not a float", `9007199254740993`, `9007199254740992.0`, false},
		{"a float beyond all integers", `9223372036854775807`, `9223372036854775808`, false},
		{"the smallest integer", `-9223372036854775808`, `-9223372036854775808.0`, true},
		{"a fraction", `1`, `1.5`, false},
		{"a number and its string", `1`, `"1"`, false},
		{"objects in another order", `{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true},
		{"objects with different fields", `{"a":1}`, `{"a":1,"b":null}`, false},
		{"an object and null", `null`, `{}`, false},
		{"a list and null", `null`, `[]`, false},
		{"lists in another order", `[1,2]`, `[2,1]`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := of(t, tc.a), of(t, tc.b)
			if got, back := tree.Equal(a, b), tree.Equal(b, a); got != tc.want || back != tc.want {
				t.Errorf("Equal = %v, in reverse %v, want %v", got, back, tc.want)
			}
		})
	}
}

func TestAlignPairsElements(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string
		want           []tree.Step
	}{
		{"nothing", `[]`, `[]`, []tree.Step{}},
		{"an element is removed", `[1,2,3]`, `[1,3]`, []tree.Step{{0, 0, true}, {1, -1, false}, {2, 1, true}}},
		{"an element is added", `[1,3]`, `[1,2,3]`, []tree.Step{{0, 0, true}, {-1, 1, false}, {1, 2, true}}},
		{"an element changes", `[1]`, `[2]`, []tree.Step{{0, 0, true}}},
		{"a named element changes", `[{"name":"a","v":1}]`, `[{"name":"a","v":2}]`, []tree.Step{{0, 0, true}}},
		{"a named element is replaced", `[{"name":"a"}]`, `[{"name":"b"}]`, []tree.Step{{0, 0, false}}},
		{
			"the longest common sequence is kept", `[9,1,2,3]`, `[1,2,9,3]`,
			[]tree.Step{{0, -1, false}, {1, 0, true}, {2, 1, true}, {-1, 2, false}, {3, 3, true}},
		},
		{
			"a name of several elements identifies none of them", `[{"name":"a","v":1},{"name":"a","v":2}]`, `[{"name":"a","v":2}]`,
			[]tree.Step{{0, -1, false}, {1, 0, true}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tree.Align(of(t, tc.from).([]any), of(t, tc.to).([]any))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Align (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOriginsFollowMovedElements(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string
		want           []int
	}{
		{"nothing", `[]`, `[]`, []int{}},
		{"new elements have no origin", `[1]`, `[2,1,3]`, []int{-1, 0, -1}},
		{"equal elements", `[1,2,3]`, `[3,2,1]`, []int{2, 1, 0}},
		{"the last of equal elements remains", `[1,1]`, `[2,1]`, []int{0, 1}},
		{"the first of equal elements remains", `[1,1,3]`, `[1,2,4]`, []int{0, 1, 2}},
		{
			"two new elements between moved ones", `[{"name":"a"},{"name":"b"},{"p":1},{"name":"d"},{"name":"e"}]`,
			`[{"name":"a"},{"p":7},{"name":"d"},{"name":"b"},{"p":8},{"name":"e"}]`,
			[]int{0, 2, 3, 1, -1, 4},
		},
		{"equal elements move", `[1,1,2]`, `[2,1,1]`, []int{2, 0, 1}},
		{"as many origins as elements", `[1,2]`, `[2,1,1]`, []int{1, 0, -1}},
		{
			"changed elements with names", `[{"name":"a"},{"name":"b"},{"name":"c"}]`,
			`[{"name":"c","v":1},{"name":"a","v":2},{"name":"d"}]`,
			[]int{2, 0, -1},
		},
		{"a changed element without a name keeps its place", `[1,2,3]`, `[1,4,3]`, []int{0, 1, 2}},
		{"all elements without a name change", `[1,2]`, `[3,4]`, []int{0, 1}},
		{"equal elements come before places", `[80,443]`, `[22,443,80]`, []int{-1, 1, 0}},
		{"a removed element gives its place to none", `[80,443]`, `[444]`, []int{-1}},
		{"elements change before, between and after neighbors", `[1,5,2,6,3]`, `[4,5,7,6,8]`, []int{0, 1, 2, 3, 4}},
		{"neighbors that have changed places", `[5,1,6]`, `[6,2,5]`, []int{2, -1, 0}},
		{"names come before places", `[{"name":"a"},{"name":"b"}]`, `[{"p":80},{"name":"b"},{"name":"a"}]`, []int{-1, 1, 0}},
		{"a removed name is not a place", `[{"name":"http","p":80},{"p":53}]`, `[{"p":5353}]`, []int{1}},
		{
			"a name that becomes ambiguous", `[{"name":"d","m":"a"}]`, `[{"name":"d","m":"n"},{"name":"d","m":"a","ro":true}]`,
			[]int{-1, -1},
		},
		{"the same number", `[{"v":1}]`, `[2,{"v":1.0}]`, []int{-1, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tree.Origins(of(t, tc.from).([]any), of(t, tc.to).([]any))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Origins (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOriginsOfLongLists checks lists that are too long to be aligned.
func TestOriginsOfLongLists(t *testing.T) {
	const n = 3000
	for name, element := range map[string]func(i int) any{
		"with names": func(i int) any { return map[string]any{"name": strconv.Itoa(i)} },
		"without":    func(i int) any { return map[string]any{"cidr": strconv.Itoa(i)} },
	} {
		from, to := make([]any, n), make([]any, n)
		for i := range n {
			from[i], to[n-1-i] = element(i), element(i)
		}
		to = slices.Insert(to, 0, element(n)) // a new one
		for j, i := range tree.Origins(from, to) {
			if want := n - j; i != want && j > 0 || j == 0 && i != -1 {
				t.Fatalf("%s: the origin of element %d is %d, want %d", name, j, i, want)
			}
		}
	}
}

func TestRebaseKeepsUnknownFields(t *testing.T) {
	for _, tc := range []struct{ name, onto, from, to, want string }{
		{"nothing changes", `{"x":1}`, `{"a":null}`, `{"a":null}`, `{"x":1}`},
		{"a field changes, and an unknown one is kept", `{"a":1,"x":1}`, `{"a":1}`, `{"a":2}`, `{"a":2,"x":1}`},
		{"a field is removed", `{"a":1,"x":1}`, `{"a":1}`, `{}`, `{"x":1}`},
		{"a field is added", `{"x":1}`, `{}`, `{"a":{"b":1}}`, `{"a":{"b":1},"x":1}`},
		{"fields that only the encoding has are not added", `{"x":1}`, `{"a":{},"b":1}`, `{"a":{},"b":2}`, `{"b":2,"x":1}`},
		{
			"an element is added, and the unknown fields of others are kept", `{"l":[{"name":"a","x":1},{"name":"b","x":2}]}`,
			`{"l":[{"name":"a"},{"name":"b"}]}`, `{"l":[{"name":"c"},{"name":"b","v":1}]}`,
			`{"l":[{"name":"c"},{"name":"b","v":1,"x":2}]}`,
		},
		{
			"elements that move keep their unknown fields", `{"l":[{"name":"a","x":1},{"name":"b","x":2},{"x":3,"v":3}]}`,
			`{"l":[{"name":"a"},{"name":"b"},{"v":3}]}`, `{"l":[{"v":3},{"name":"b","v":1},{"name":"a"}]}`,
			`{"l":[{"v":3,"x":3},{"name":"b","v":1,"x":2},{"name":"a","x":1}]}`,
		},
		{
			"elements of one name are told apart by their content", `{"l":[{"name":"a","p":"1","x":1},{"name":"a","p":"2","x":2}]}`,
			`{"l":[{"name":"a","p":"1"},{"name":"a","p":"2"}]}`, `{"l":[{"name":"a","p":"2"}]}`, `{"l":[{"name":"a","p":"2","x":2}]}`,
		},
		{"an object that the encoding omits when it is zero is kept", `{"a":{"x":1}}`, `{}`, `{"a":{"b":1}}`, `{"a":{"b":1,"x":1}}`},
		{"only the changes of an object that only the encoding has are made", `{}`, `{"a":{"b":0,"c":1}}`, `{"a":{"b":0,"c":2}}`, `{"a":{"c":2}}`},
		{"a null becomes an object", `{"a":null}`, `{"a":null}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{
			"a list that the type sorts is that of the change", `{"l":["b","a"],"n":[{"name":"b","x":1},{"name":"a","x":2}]}`,
			`{"l":["a","b"],"n":[{"name":"a"},{"name":"b"}]}`, `{"l":["b"],"n":[{"name":"b","v":1}]}`, `{"l":["b"],"n":[{"name":"b","v":1}]}`,
		},
		{
			"elements without their name are recognized by their content", `{"l":[{"name":"a","p":1,"x":1},{"name":"b","p":2,"x":2}]}`,
			`{"l":[{"p":1},{"p":2}]}`, `{"l":[{"p":2},{"p":3}]}`, `{"l":[{"name":"b","p":2,"x":2},{"p":3}]}`,
		},
		{"a list without common elements is replaced", `{"l":[1,2]}`, `{"l":[1]}`, `{"l":[3]}`, `{"l":[3]}`},
		{"a value that becomes an object is replaced", `{"a":1}`, `{"a":{}}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := tree.Rebase(of(t, tc.onto), of(t, tc.from), of(t, tc.to))
			if got, err := wire.MarshalJSON(result); err != nil || string(got) != tc.want {
				t.Errorf("Rebase = %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}
