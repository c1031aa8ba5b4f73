// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// module has everything that decides what a type is: other packages, constants, functions and variables in the lengths
// of arrays, generic types, embedded interfaces, aliases, dot imports, build tags and a vendored module.
const module = `
-- go.mod --
module example.com/a

go 1.26

require example.com/vendored v1.0.0
-- vendor/modules.txt --
# example.com/vendored v1.0.0
## explicit; go 1.20
example.com/vendored
-- vendor/example.com/vendored/vendored.go --
package vendored

type Size int64

func (s *Size) UnmarshalJSON([]byte) error { return nil }
func (s Size) MarshalJSON() ([]byte, error) { return nil, nil }
-- api/api.go --
// +groupName=example.com
package api

import (
	"fmt"
	. "time"

	"example.com/a/other"
	short "example.com/vendored"
)

// +kubebuilder:object:root=true
type Thing struct {
	Spec
	Size   short.Size
	Wait   Duration
	Pair   other.Pair[string, *Thing]
	Sized  other.Sized
	Local  [len(local)]int
	Alias  other.Alias
	Any    other.Both
	Tagged other.Tagged
	Level  other.Level
	Text   other.Text
	Far    other.Far
}

var local = other.Make()

type Spec struct{ other.Embedded }

func (s Spec) Print() { fmt.Println(s) }

func New[T other.Number](n T) (t *Thing, err error) { return }
-- other/other.go --
package other

import (
	"io"
	"net/http"
	"unsafe"
)

type Pair[K comparable, V any] struct {
	Key K
	Value V
	next *Pair[K, V]
}

func (p *Pair[K, V]) Swap(with Pair[K, V]) (V, error) { http.Get(""); return p.Value, nil }

type Sized [unsafe.Sizeof(table) + uintptr(size)]byte

const size = len(array) + two

var (
	array [3]int
	table = func() (t [2]int32) { return }()
	unused = http.DefaultClient
)

func Make() [4]string { return [4]string{} }

func Unused(*http.Request) {}

type Alias = map[string]Pair[int, Level]

type Both interface {
	io.Reader
	interface{ Level() Level }
}

type Number interface{ ~int | ~float64 }

type Level string

const (
	Low  Level = "low"
	High       = Level("high")
)

type Embedded struct{ inner }

type inner struct{ Name string }

func (inner) IsZero() bool { return false }

type Text struct{ text string }

func (t *Text) MarshalText() ([]byte, error) { return nil, nil }
func (t *Text) unexported(io.Writer) {}

type Unreferenced struct{ *http.Request }
-- other/far.go --
package other

import "example.com/a/far"

const two = far.Two

type Far = far.Far
-- other/tagged_linux.go --
package other

type Tagged struct{ Linux bool }
-- other/tagged_other.go --
//go:build !linux

package other

type Tagged struct{ Other bool }
-- far/far.go --
package far

const Two = 2

type Far struct {
	Back []Far
	Up   map[string]*Far
}
-- plain/plain.go --
// Package plain has no kinds.
package plain

import "net/http"

// +kubebuilder:rbac:groups="",resources=pods,verbs=get
var Handler http.Handler
`

func extract(t *testing.T, archive string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadAll(t *testing.T, dir string) *Program {
	t.Helper()
	problem := func(pos token.Position, msg string) { t.Errorf("%s: %s", pos, msg) }
	p, err := Load(t.Context(), &Config{Dir: dir, Patterns: []string{"./api", "./plain"}, Report: problem, Warn: problem})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTypesEqualThoseOfTheCompiler(t *testing.T) {
	dir := extract(t, module)
	list, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes}, "./api")
	if err != nil || len(list) != 1 || len(list[0].Errors) > 0 {
		t.Fatalf("packages.Load: %v %v", list, err)
	}
	want := describe(list[0].Types)
	root := loadAll(t, dir).Package("example.com/a/api")
	if diff := cmp.Diff(want, describe(root.Types)); diff != "" || len(root.typeErrors) > 0 {
		t.Errorf("types (-compiler +loader):\n%s%v", diff, root.typeErrors)
	}
	for _, part := range []string{"func (*example.com/a/other.Text).MarshalText() ([]byte, error)", "Sized = [13]byte", "Local [4]int"} {
		if !strings.Contains(strings.Join(want, "\n"), part) {
			t.Errorf("the compiler's types have no %s:\n%s", part, strings.Join(want, "\n"))
		}
	}
}

// describe writes all types that the exported declarations of a package lead to, with their methods.
func describe(pkg *types.Package) []string {
	var lines []string
	seen := map[types.Type]bool{}
	var walk func(t types.Type)
	walk = func(t types.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Named:
			lines = append(lines, fmt.Sprintf("%s = %s", t, t.Underlying()))
			for _, set := range []*types.MethodSet{types.NewMethodSet(t), types.NewMethodSet(types.NewPointer(t))} {
				for m := range set.Methods() {
					lines = append(lines, fmt.Sprintf("%s %v", m.Obj(), m.Index()))
					walk(m.Type())
				}
			}
			walk(t.Underlying())
		case *types.Alias:
			lines = append(lines, fmt.Sprintf("%s = %s", t, t.Rhs()))
			walk(t.Rhs())
		case *types.Struct:
			for f := range t.Fields() {
				walk(f.Type())
			}
		case *types.Signature:
			for v := range t.Params().Variables() {
				walk(v.Type())
			}
			for v := range t.Results().Variables() {
				walk(v.Type())
			}
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case interface{ Elem() types.Type }:
			walk(t.Elem())
		}
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() { // export data may lack it
			continue
		}
		lines = append(lines, obj.String())
		walk(obj.Type())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func TestPackagesThatNoKindRefersToAreNotRead(t *testing.T) {
	dir := extract(t, module)
	p := loadAll(t, dir)
	if n := p.Package("example.com/a/plain").Types.Scope().Len(); n > 0 {
		t.Errorf("a package without kinds has %d types", n)
	}
	if p.Package("net/http") == nil {
		t.Error("net/http is not listed")
	}
	for name := range p.parsed {
		if strings.Contains(name, "net/http/") || filepath.Base(filepath.Dir(name)) == "fmt" {
			t.Errorf("%s was read", name)
		}
	}
	level := p.Package("example.com/a/other").Types.Scope()
	for _, name := range []string{"Low", "High"} { // they are the enumeration of a type
		if level.Lookup(name) == nil {
			t.Errorf("the constant %s is missing", name)
		}
	}
}

func TestCgoPackagesAreRead(t *testing.T) {
	dir := extract(t, `
-- go.mod --
module example.com/a

go 1.26
-- api/api.go --
// +groupName=example.com
package api

import "example.com/a/native"

type Thing struct{ native.Native }
-- native/native.go --
package native

// #include <stdint.h>
import "C"

type Native struct{ Set bool }

func (n Native) IsZero() bool { return C.int32_t(1) > 0 }
-- plain/plain.go --
package plain
`)
	t.Setenv("CGO_ENABLED", "1")
	root := loadAll(t, dir).Package("example.com/a/api")
	got := describe(root.Types)
	want := []string{
		"example.com/a/api.Thing = struct{example.com/a/native.Native}",
		"example.com/a/native.Native = struct{Set bool}",
		"func (example.com/a/native.Native).IsZero() bool [0 0]",
		"func (example.com/a/native.Native).IsZero() bool [0]",
		"type example.com/a/api.Thing struct{example.com/a/native.Native}",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(root.typeErrors) > 0 {
		t.Errorf("types (-want +got):\n%s%v", diff, root.typeErrors)
	}
}

func TestCheckCompilesFunctionBodies(t *testing.T) {
	dir := extract(t, module)
	var got []string
	p, err := Load(t.Context(), &Config{
		Dir: dir, Patterns: []string{"./..."}, Warn: func(token.Position, string) {},
		Report: func(pos token.Position, msg string) {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s", filepath.Base(pos.Filename), pos.Line, pos.Column, msg))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const generated = `package api

import "example.com/a/other"

func (t *Thing) Wrong() int { return t.Size }

func (t *Thing) Right() string { other.Unused(nil); return t.Name + string(other.High) }
`
	p.Check(map[string][]byte{"example.com/a/api": []byte(generated)})
	want := []string{"zz_generated.kube.go:5:38: cannot use t.Size (variable of int64 type vendored.Size) as int value in return statement"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}
