// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kube-go/sdk/wasm/internal/binary"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

const start = wasmtest.Preamble

// Short names of the encoder.
var (
	section = wasmtest.Section[string]
	vector  = wasmtest.Vector[string]
	name    = wasmtest.Sized[string]
)

// full is a module with a section of each kind:
//
//   - types: (i32, i64) -> (i32), ()
//   - imports: env.f
//   - functions: 1 is the start function and sets global 0; 2 copies the passive segment to address 32
//   - a memory of 1 to 4 pages, a table
//   - globals: mut i32 = 7, i64 = 1, mut f64 = 0
//   - segments: "abc" at 8, passive "xyz", "de" at 16
var full = start +
	section(0, name("build")+"v1") +
	section(1, vector("\x60"+vector("\x7f", "\x7e")+vector("\x7f"), "\x60\x00\x00")) +
	section(2, vector(name("env")+name("f")+"\x00\x00")) +
	section(3, vector("\x01", "\x01")) +
	section(4, vector("\x70\x01\x02\x02")) +
	section(5, vector("\x01\x01\x04")) +
	section(6, vector("\x7f\x01\x41\x07\x0b", "\x7e\x00\x42\x01\x0b", "\x7c\x01\x44"+strings.Repeat("\x00", 8)+"\x0b")) +
	section(7, vector(name("memory")+"\x02\x00", name("copy")+"\x00\x02", name("sp")+"\x03\x00", name("f")+"\x00\x00")) +
	section(8, "\x01") +
	section(9, vector("\x00\x41\x00\x0b"+vector("\x01", "\x02"))) +
	section(12, "\x03") +
	section(10, vector(
		"\x06\x00\x41\x2a\x24\x00\x0b",                            // global.set 0 (i32.const 42)
		"\x0c\x00\x41\x20\x41\x00\x41\x03\xfc\x08\x01\x00\x0b")) + // memory.init 1 (32, 0, 3)
	section(11, vector("\x00\x41\x08\x0b"+name("abc"), "\x01"+name("xyz"), "\x02\x00\x41\x10\x0b"+name("de"))) +
	section(0, name("end")+"v2")

func read(t testing.TB, wasm string) *binary.Module {
	t.Helper()
	m, err := binary.Read([]byte(wasm))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestReadReturnsImportsExportsAndMemory(t *testing.T) {
	m := read(t, full)
	imports := []binary.Import{{Module: "env", Name: "f", Kind: binary.Function}}
	if !slices.Equal(m.Imports, imports) {
		t.Errorf("imports %+v, want %+v", m.Imports, imports)
	}
	want := []binary.Export{
		{Name: "memory", Kind: binary.Memory, Type: "1..4"},
		{Name: "copy", Kind: binary.Function, Type: "()"},
		{Name: "sp", Kind: binary.Global, Type: "mut i32"},
		{Name: "f", Kind: binary.Function, Type: "(i32, i64) -> (i32)"},
	}
	if !slices.Equal(m.Exports, want) {
		t.Errorf("exports %+v, want %+v", m.Exports, want)
	}
	if *m.Memory != (binary.Limits{Min: 1, Max: 4}) {
		t.Errorf("memory %+v", *m.Memory)
	}
}

// instantiate returns an instance, with a function env.f.
func instantiate(t *testing.T, wasm []byte) api.Module {
	t.Helper()
	r := wazero.NewRuntime(t.Context())
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	f := func(_ context.Context, a uint32, _ uint64) uint32 { return a }
	env := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(f).Export("f")
	if _, err := env.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	i, err := r.Instantiate(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestRewrittenModuleLeavesTheInitialisationToTheHost(t *testing.T) {
	out, err := read(t, full).Rewrite()
	if err != nil {
		t.Fatal(err)
	}
	i := instantiate(t, out.Wasm)
	if b, _ := i.Memory().Read(0, 64); !bytes.Equal(b, make([]byte, 64)) {
		t.Errorf("the memory is not empty: %q", b)
	}
	if want := []string{"kube.image.global.0", "kube.image.global.2"}; !slices.Equal(out.Globals, want) {
		t.Fatalf("globals %q, want %q", out.Globals, want)
	}
	if g := i.ExportedGlobal(out.Globals[0]).Get(); g != 7 {
		t.Errorf("global 0 is %d: the start function was called", g)
	}
	if err := out.Segments(func(offset uint32, content []byte) error {
		i.Memory().Write(offset, content)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{out.Start, "copy"} {
		if _, err := i.ExportedFunction(f).Call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	original := instantiate(t, []byte(full))
	if _, err := original.ExportedFunction("copy").Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ := i.Memory().Read(0, 64)
	want, _ := original.Memory().Read(0, 64)
	if !bytes.Equal(got, want) || !bytes.Contains(got, []byte("xyz")) {
		t.Errorf("memory %q, want %q", got, want)
	}
	if got, want := i.ExportedGlobal("sp").Get(), original.ExportedGlobal("sp").Get(); got != want || got != 42 {
		t.Errorf("global %d, want %d", got, want)
	}
	i.ExportedGlobal(out.Globals[1]).(api.MutableGlobal).Set(api.EncodeF64(1.5))
	if got := i.ExportedGlobal(out.Globals[1]).Get(); got != api.EncodeF64(1.5) {
		t.Errorf("global 2 is %x after it was set", got)
	}
}

func TestModuleWithoutAnExportSectionGetsOne(t *testing.T) {
	wasm := start + section(5, vector("\x00\x01")) + section(6, vector("\x7f\x01\x41\x00\x0b"))
	for _, rest := range []string{"", section(0, name("x")), section(11, vector("\x00\x41\x00\x0b"+name("a")))} {
		out, err := read(t, wasm+rest).Rewrite()
		if err != nil {
			t.Fatal(err)
		}
		if g := instantiate(t, out.Wasm).ExportedGlobal(out.Globals[0]); g == nil || g.Get() != 0 {
			t.Errorf("after %q: global %v", rest, g)
		}
	}
}

func TestStateThatAnImageDoesNotHaveIsRefused(t *testing.T) {
	memory := section(5, vector("\x00\x01"))
	function := section(1, vector("\x60\x00\x00")) + section(3, vector("\x00"))
	code := func(body string) string {
		return start + function + section(4, vector("\x70\x01\x01\x02")) + memory +
			section(10, vector(name("\x00"+body+"\x0b")))
	}
	for text, wasm := range map[string]string{
		"table.set":  code("\x41\x00\xd0\x70\x26\x00"),
		"table.grow": code("\xd0\x70\x41\x00\xfc\x0f\x00\x1a"),
		"table.fill": code("\x41\x00\xd0\x70\x41\x00\xfc\x11\x00"),
		"table.copy": code("\x41\x00\x41\x00\x41\x00\xfc\x0e\x00\x00"),
		"no memory":  start,
		"shared":     start + section(5, vector("\x03\x01\x02")),
		"imports":    start + section(2, vector(name("a")+name("b")+"\x01\x70\x00\x01")) + memory,
		"funcref":    start + memory + section(6, vector("\x70\x01\xd0\x70\x0b")),
		"v128":       start + memory + section(6, vector("\x7b\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b")),
		"not a const": start + memory + section(6, vector("\x7f\x00\x41\x00\x0b")) +
			section(11, vector("\x00\x23\x00\x0b"+name("a"))),
		"reserved pref": start + memory + section(7, vector(name("kube.image.start")+"\x02\x00")),
	} {
		_, err := read(t, wasm).Rewrite()
		if !errors.Is(err, binary.ErrNoImage) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestSegmentsThatCodeDropsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want bool
	}{
		"data.drop":   {"\xfc\x09\x00", true},
		"elem.drop":   {"\xfc\x0d\x00", true},
		"memory.fill": {"\x41\x00\x41\x00\x41\x00\xfc\x0b\x00", false},
	} {
		r, err := read(t, start+section(1, vector("\x60\x00\x00"))+section(3, vector("\x00"))+
			section(4, vector("\x70\x00\x07"))+section(5, vector("\x00\x01"))+section(9, vector("\x01\x00"+vector("\x00")))+
			section(12, "\x01")+section(10, vector(string([]byte{byte(len(c.body) + 2)})+"\x00"+c.body+"\x0b"))+
			section(11, vector("\x01\x01x"))).Rewrite()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if r.DropsSegments != c.want || r.Elements != 7 {
			t.Errorf("%s: %+v, want DropsSegments %v and 7 elements", name, r, c.want)
		}
	}
}

func TestErrorsNameTheSectionAndTheOffset(t *testing.T) {
	huge := "\xff\xff\xff\xff\x0f"
	function := section(1, vector("\x60\x00\x00")) + section(3, vector("\x00"))
	for _, c := range []struct{ wasm, want string }{
		{"", "does not start with"},
		{"\x00asm\x0d\x00\x01\x00", "components are not supported"},
		{start + "\x0e\x00", "the next section at offset 9: the id 14 is unknown"},
		{start + "\x01\x7f", "type section at offset 10: its length 127 is beyond the end"},
		{start + "\x01", "type section at offset 9: the section ends early"},
		{start + section(3, vector()) + section(1, vector()), "type section at offset 12: the sections are in the wrong"},
		{start + section(1, huge), "type section at offset 15: 4294967295 elements do not fit"},
		{start + section(1, "\x80\x80\x80\x80\x80\x01"), "does not fit in 32 bits"},
		{start + section(1, vector("\x61\x00\x00")), "type 0 is not the type of a function"},
		{start + section(1, vector("\x60\x01\x20\x00")), "the value type 0x20 is unknown"},
		{start + section(2, vector(name("a")+name("\xff")+"\x00\x00")), "the name is not UTF-8"},
		{start + section(2, vector(name("a")+name("b")+"\x00\x05")), "import section at offset 17: type 5 does not exist"},
		{start + section(2, vector(name("a")+name("b")+"\x09\x00")), "unknown kind 9"},
		{start + section(3, huge), "4294967295 elements do not fit"},
		{start + section(4, vector("\x70\x00\x81\x80\x80\x08")), "the tables have more than"},
		{start + section(5, vector("\x00\x01", "\x00\x01")), "two memories"},
		{start + section(5, vector("\x00\x81\x80\x04")), "more than 65536 pages"},
		{start + section(5, vector("\x01\x02\x01")), "the maximum 1 is less than the minimum 2"},
		{start + section(5, "\x00\x00"), "1 bytes are left over"},
		{start + section(6, vector("\x7f\x02\x41\x00\x0b")), "the mutability 2"},
		{start + section(7, vector(name("a")+"\x00\x00")), `export "a" refers to function 0, which does not exist`},
		{
			start + section(5, vector("\x00\x01")) + section(7, vector(name("a")+"\x02\x00", name("a")+"\x02\x00")),
			"two exports",
		},
		{start + section(8, "\x03"), "start section at offset 11: function 3 does not exist"},
		{start + section(9, vector("\x01\x00"+huge)), "element section"},
		{start + function + section(10, vector("\x06\x01"+huge[:4]+"\x07\x7f")), "locals: at most 5000"},
		{start + function + section(10, vector("\x02\x00\x41")), "code section"},
		{start + section(11, vector("\x05")), "the section"},
		{start + section(12, "\x02"), "data count section"},
		{start + section(0, name("name")+"\x01\x06"+huge+"\x00"), "custom section"},
	} {
		_, err := binary.Read([]byte(c.wasm))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.wasm, err, c.want)
		}
	}
}

func TestTablesThatCanGrowBeyondTheLimitAreRefused(t *testing.T) {
	wasm := func(tables ...string) []byte {
		return []byte(start + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) +
			section(4, vector(tables...)) + section(10, vector(name("\x00\xd0\x70\x41\x00\xfc\x0f\x00\x1a\x0b"))))
	}
	half := "\x70\x01\x01\x80\x80\x20" // 2^19 elements at most
	for _, c := range []struct {
		name   string
		tables []string
		valid  bool
	}{
		{"a table without a maximum", []string{"\x70\x00\x01"}, false},
		{"a small table", []string{"\x70\x01\x01\x02"}, true},
		{"two tables with the limit together", []string{half, half}, true},
		{"three tables below the limit each", []string{half, half, half}, false},
	} {
		_, err := binary.Read(wasm(c.tables...))
		if (err == nil) != c.valid || err != nil && !strings.Contains(err.Error(), "declare smaller maximums") {
			t.Errorf("%s: error %v, want success: %v", c.name, err, c.valid)
		}
	}
}

// TestMemoryIsProportionalToTheModule damages a module in many ways and bounds what is allocated.
func TestMemoryIsProportionalToTheModule(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var before, after runtime.MemStats
	for range 2000 {
		wasm := []byte(full)
		for range 1 + random.IntN(4) {
			wasm[8+random.IntN(len(wasm)-8)] = byte(random.Uint32())
		}
		runtime.ReadMemStats(&before)
		_, _ = binary.Read(wasm)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Fatalf("%d bytes were allocated for %d: %q", n, len(wasm), wasm)
		}
	}
}

// features are all those of wazero.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads | experimental.CoreFeaturesExtendedConst |
	experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExceptionHandling |
	experimental.CoreFeaturesTypedFunctionReferences

// TestModulesThatWazeroAcceptsAreAccepted uses the modules that wazero's own tests have, which come from the tests of
// the specification and from compilers of C, Rust, Zig and Go.
func TestModulesThatWazeroAcceptsAreAccepted(t *testing.T) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skip("the sources of wazero are not there: ", err)
	}
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	defer func() { _ = r.Close(context.Background()) }()
	accepted, rewritten := 0, 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" {
			return err
		}
		wasm, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m, err := binary.Read(wasm)
		if err != nil {
			if unsupported(err) {
				return nil
			}
			if compiles(r, wasm) {
				t.Errorf("%s: wazero accepts it: %v", path, err)
			}
			return nil
		}
		accepted++
		if compiles(r, wasm) && !compilesWithoutStart(r, m) {
			t.Errorf("%s: wazero refuses the module without its start section", path)
		}
		if out, err := m.Rewrite(); err == nil && compiles(r, wasm) {
			rewritten++
			if !compiles(r, out.Wasm) {
				t.Errorf("%s: wazero refuses the rewritten module", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d modules accepted, %d rewritten", accepted, rewritten)
	if accepted < 100 || rewritten < 100 {
		t.Errorf("only %d modules were accepted and %d rewritten", accepted, rewritten)
	}
}

// unsupported returns whether the error is about what is refused on purpose.
func unsupported(err error) bool {
	return slices.ContainsFunc([]string{"the tables can grow to more than", "the tables have more than", "locals: at most"},
		func(s string) bool { return strings.Contains(err.Error(), s) })
}

func compiles(r wazero.Runtime, wasm []byte) bool {
	c, err := r.CompileModule(context.Background(), wasm)
	if err != nil {
		return false
	}
	_ = c.Close(context.Background())
	return true
}

// compilesWithoutStart reports whether wazero accepts a module without its start section.
func compilesWithoutStart(r wazero.Runtime, m *binary.Module) bool {
	wasm, _, err := m.WithoutStart()
	return err != nil || compiles(r, wasm)
}

// FuzzRead checks that a module that is accepted can be rewritten, and that wazero agrees about both.
func FuzzRead(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(start))
	f.Add([]byte(start + section(5, vector("\x00\x01")) + section(6, vector("\x7f\x01\x41\x00\x0b"))))
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := binary.Read(wasm)
		if err != nil {
			return
		}
		if compiles(r, wasm) && !compilesWithoutStart(r, m) {
			t.Fatal("wazero refuses the module without its start section")
		}
		out, err := m.Rewrite()
		if err != nil {
			if !errors.Is(err, binary.ErrNoImage) {
				t.Fatal(err)
			}
			return
		}
		again, err := binary.Read(out.Wasm)
		if err != nil {
			t.Fatalf("the rewritten module: %v", err)
		}
		if len(again.Exports) != len(m.Exports)+len(out.Globals)+min(len(out.Start), 1) {
			t.Fatalf("%d exports after %d", len(again.Exports), len(m.Exports))
		}
		if compiles(r, wasm) && !compiles(r, out.Wasm) {
			t.Fatal("wazero refuses the rewritten module")
		}
	})
}
