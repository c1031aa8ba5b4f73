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
		{"long functions", slices.Repeat([][]byte{testCode(1, testPart{600 << 10, testNop})}, 40), "too complex"},
		{"empty functions", slices.Repeat([][]byte{{0, 0x0b}}, 100_001), "at most 100000"},
		{"many functions", slices.Repeat([][]byte{testCode(1, testPart{20_000, testIf})}, 6), "too complex"},
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

func TestItemsThatNeedMuchMemoryAreLimited(t *testing.T) {
	count := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	zeros := func(n int) []byte { return make([]byte, n) }
	segment := func(elements int) []byte { return slices.Concat([]byte{1, 0}, count(elements), zeros(elements)) }
	names := func(n int) []byte {
		functions := wasmtest.Sized(append(count(n), zeros(2*n)...))
		return slices.Concat(wasmtest.Sized([]byte("name")), []byte{1}, functions)
	}
	for name, sections := range map[string]func(over int) [][]byte{
		"elements": func(over int) [][]byte {
			return [][]byte{9: wasmtest.Vector(segment(500_000), segment(500_000+over))}
		},
		"segments of elements": func(over int) [][]byte {
			return [][]byte{9: wasmtest.Vector(slices.Repeat([][]byte{segment(0)}, 100_000+over)...)}
		},
		"segments of data": func(over int) [][]byte {
			return [][]byte{11: wasmtest.Vector(slices.Repeat([][]byte{{1, 0}}, 100_000+over)...)}
		},
		"names": func(over int) [][]byte { return [][]byte{0: names(1_000_000 + over)} },
	} {
		if _, err := Read(wasmtest.Module(sections(0))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Read(wasmtest.Module(sections(1))); err == nil || !strings.Contains(err.Error(), "are supported") {
			t.Errorf("one more of the %s: %v, want an error about the maximum", name, err)
		}
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
