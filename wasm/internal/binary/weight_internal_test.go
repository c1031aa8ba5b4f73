// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// testModule returns a module with a memory and functions of the type 0, which has no parameters and no results. The
// type 1 has 1,000 results, and the type 2 as many parameters.
func testModule(codes ...[]byte) []byte {
	wide := wasmtest.Sized(bytes.Repeat([]byte{0x7f}, 1000))
	var types, bodies [][]byte
	for _, code := range codes {
		types, bodies = append(types, []byte{0}), append(bodies, wasmtest.Sized(code))
	}
	sections := [][]byte{
		1: wasmtest.Vector([]byte{0x60, 0, 0}, slices.Concat([]byte{0x60, 0}, wide), slices.Concat([]byte{0x60}, wide, []byte{0})),
		3: wasmtest.Vector(append(types, []byte{1}, []byte{2})...), 5: {1, 0, 1},
		10: wasmtest.Vector(append(bodies, wasmtest.Sized([]byte{0, 0, 0x0b}), wasmtest.Sized([]byte{0, 0x0b}))...),
	}
	return wasmtest.Module(sections)
}

// testCode returns the code of a function with a number of i32 locals, and parts that are repeated.
func testCode(locals int, parts ...testPart) []byte {
	code := slices.Concat([]byte{1}, binary.AppendUvarint(nil, uint64(locals)), []byte{0x7f})
	for _, p := range parts {
		code = append(code, bytes.Repeat([]byte(p.code), p.times)...)
	}
	return append(code, 0x0b)
}

type testPart struct {
	times int
	code  string
}

const (
	testIf     = "\x20\x00\x04\x40\x0b"         // local.get 0, if, end
	testLoop   = "\x03\x40\x0b"                 // loop, end
	testBranch = "\x02\x40\x20\x00\x0d\x00\x0b" // block, local.get 0, br_if 0, end
	testPush   = "\x3f\x00"                     // memory.size
	testDrop   = "\x1a"
	testNop    = "\x01"
)

// testTable returns a branch table with a number of targets.
func testTable(targets int) string {
	const branch = "\x20\x00\x0e" // local.get 0, br_table
	return branch + string(binary.AppendUvarint(nil, uint64(targets-1))) + strings.Repeat("\x00", targets)
}

// TestFunctionsThatTakeLongToCompileAreRefused has functions whose compilation would take minutes or many gigabytes, or
// exhaust the stack, which ends the process.
func TestFunctionsThatTakeLongToCompileAreRefused(t *testing.T) {
	table := testTable(10_000)
	tests := []struct {
		name  string
		codes [][]byte
		want  string // of the error
	}{
		{"many blocks", [][]byte{testCode(1, testPart{100_000, testIf})}, "blocks and branches"},
		{"many branches", [][]byte{testCode(1, testPart{10_001, testBranch})}, "blocks and branches"},
		{"many loops", [][]byte{testCode(1, testPart{2001, testLoop})}, "loops"},
		{"nested loops", [][]byte{testCode(1, testPart{2001, testLoop[:2]}, testPart{2001, testLoop[2:]})}, "loops"},
		{"many locals", [][]byte{testCode(5001)}, "locals"},
		{"locals and blocks", [][]byte{testCode(1000, testPart{500, testIf})}, "in total"},
		{
			"operands below blocks",
			[][]byte{testCode(1, testPart{1000, testPush}, testPart{500, testIf}, testPart{1000, testDrop})},
			"in total",
		},
		{"many operands", [][]byte{testCode(1, testPart{10_001, testPush}, testPart{10_001, testDrop})}, "operands"},
		{"targets of branch tables", [][]byte{testCode(100, testPart{1, table})}, "in total"},
		{"a long function", [][]byte{testCode(1, testPart{640 << 10, testNop})}, "bytes and operands"},
		{"calls with many operands", [][]byte{testCode(1, testPart{400, "\x10\x01\x10\x02"})}, "bytes and operands"},
		{"many functions", slices.Repeat([][]byte{testCode(1, testPart{20_000, testIf})}, 6), "too complex"},
		{"many long functions", slices.Repeat([][]byte{testCode(1, testPart{640<<10 - 16, testNop})}, 32), "too complex"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(testModule(tt.codes...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one about %q", err, tt.want)
			}
		})
	}
}

// TestManyItemsAreRefused has items for which wazero needs much more memory than for their encoding.
func TestManyItemsAreRefused(t *testing.T) {
	const types, functions, elements, code, data = 1, 3, 9, 10, 11
	section := func(number int, content []byte) []byte {
		sections := make([][]byte, max(number, types)+1)
		sections[types] = []byte("\x01\x60\x00\x00")
		sections[number] = content
		return wasmtest.Module(sections)
	}
	items := func(n int, item string) []byte { return wasmtest.Vector(slices.Repeat([][]byte{[]byte(item)}, n)...) }
	segment := func(n int, item string) []byte { return slices.Concat([]byte("\x01\x00"), items(n, item)) }
	expressions := func(n int) []byte { return slices.Concat([]byte("\x05\x70"), items(n, "\xd0\x70\x0b")) }
	names := wasmtest.Section[[]byte] // the subsections have the same form
	nameSection := func(subsections ...[]byte) []byte {
		return section(0, slices.Concat([]byte("\x04name"), slices.Concat(subsections...)))
	}
	locals := func(n int) []byte { return slices.Concat([]byte{0}, items(n, "\x00\x00")) }
	function := func(params, results int) []byte {
		return slices.Concat([]byte{0x60}, items(params, "\x7f"), items(results, "\x7f"))
	}
	const few, shared, half = 100_000, 1_000_000, 500_000
	tests := []struct {
		name    string
		most    []byte // is accepted
		tooMany []byte
		want    string
	}{
		{"functions", section(functions, items(few, "\x00")), section(functions, items(few+1, "\x00")), "function section"},
		{"codes", section(code, items(few, "\x02\x00\x0b")), section(code, items(few+1, "\x02\x00\x0b")), "code section"},
		{"data segments", section(data, items(few, "\x01\x00")), section(data, items(few+1, "\x01\x00")), "data section"},
		{
			"element segments", section(elements, items(few, "\x01\x00\x00")), section(elements, items(few+1, "\x01\x00\x00")),
			"element section",
		},
		{
			"elements", section(elements, wasmtest.Vector(segment(half, "\x00"), expressions(half))),
			section(elements, wasmtest.Vector(segment(half, "\x00"), expressions(half+1))), "element section",
		},
		{
			"names", nameSection(names(1, items(half, "\x00\x00")), names(2, wasmtest.Vector(locals(half-2), locals(0)))),
			nameSection(names(1, items(half, "\x00\x00")), names(2, wasmtest.Vector(locals(half-2), locals(1)))),
			"custom section",
		},
		{
			"functions with names of locals", nameSection(names(2, items(shared, "\x00\x00"))),
			nameSection(names(2, items(shared+1, "\x00\x00"))), "custom section",
		},
		{
			"parameters and results", section(types, wasmtest.Vector(function(half, 0), function(0, half))),
			section(types, wasmtest.Vector(function(half, 0), function(1, half))), "type section",
		},
		{
			"types in groups",
			section(types, items(10, "\x4e"+string(items(few, "\x60\x00\x00")))),
			section(types, items(11, "\x4e"+string(items(few, "\x60\x00\x00")))), "type section",
		},
		{
			"sections", []byte(wasmtest.Preamble + strings.Repeat("\x00\x01\x00", maxSections)),
			[]byte(wasmtest.Preamble + strings.Repeat("\x00\x01\x00", maxSections+1)), "sections",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Read(tt.most); err != nil {
				t.Errorf("a module with as many as possible is refused: %v", err)
			}
			_, err := Read(tt.tooMany)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one about the %s", err, tt.want)
			}
		})
	}
}

func TestLargeFunctionsAreAccepted(t *testing.T) {
	table := testTable(3000)
	for name, code := range map[string][]byte{
		"a program in Go": testCode(8, testPart{1, "\x03\x40"}, testPart{3000, "\x02\x40"}, testPart{1, table},
			testPart{3000, "\x0b\x20\x00\x0d\x00"}, testPart{1, "\x0b"}),
		"blocks":            testCode(8, testPart{20_000, testIf}),
		"calls":             testCode(8, testPart{300, "\x10\x01\x10\x02"}),
		"unreachable code":  testCode(1, testPart{5000, "\x02\x40\x00\x1a\x1a\x0b"}),
		"operands that end": testCode(1, testPart{100_000, testPush + testDrop}),
		"the maximum size":  testCode(1, testPart{640<<10 - 16, testNop}),
		"arithmetic":        testCode(1, testPart{90_000, "\x20\x00\x20\x00\x6a\x21\x00"}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(testModule(code)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOperandsOfInstructionsAreCounted compares the count with the validation of wazero: a function is valid only if it
// ends with as many operands as its type has results.
func TestOperandsOfInstructionsAreCounted(t *testing.T) {
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = r.Close(context.Background()) }()
	zero := map[byte]string{'i': "\x41\x00", 'l': "\x42\x00", 'f': "\x43\x00\x00\x00\x00", 'd': "\x44" +
		strings.Repeat("\x00", 8)}
	tested := 0
	for op := 0x45; op <= 0xc4; op++ {
		for _, in := range []string{"i", "l", "f", "d", "ii", "ll", "ff", "dd"} {
			var pushed strings.Builder
			for n := range len(in) {
				pushed.WriteString(zero[in[n]])
			}
			wasm := testModule(testCode(1, testPart{1, pushed.String() + string([]byte{byte(op)}) + testDrop}))
			compiled, err := r.CompileModule(t.Context(), wasm)
			if err != nil {
				continue
			}
			_ = compiled.Close(t.Context())
			tested++
			if got, want := operands(byte(op)), 1-len(in); got != want {
				t.Errorf("the instruction %#x adds %d operands, want %d", op, got, want)
			}
		}
	}
	if tested != 0xc4-0x45+1 {
		t.Errorf("%d instructions were tested, want %d", tested, 0xc4-0x45+1)
	}
}
