// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PageSize is the unit of the size of a memory.
const PageSize = 65536

// maxPages is the largest size of a memory with 32-bit addresses.
const maxPages = 65536

// maxSections bounds the custom sections, which a module may repeat.
const maxSections = 10_000

// Kind is what an import or export is.
type Kind byte

// The kinds, with the values of the format.
const (
	Function Kind = iota
	Table
	Memory
	Global
	Tag
)

func (k Kind) String() string {
	names := [...]string{"function", "table", "memory", "global", "tag"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Import is something that a module needs.
type Import struct {
	Module string
	Name   string
	Kind   Kind
}

// Export is something that a module offers. Type is a function type such as "(i32, i64) -> (i32)", the limits of a
// memory in pages such as "2..16", or the type of a global such as "mut i32".
type Export struct {
	Name string
	Kind Kind
	Type string
}

// Limits are the sizes of a memory, in pages. Max is -1 if the module has no maximum.
type Limits struct {
	Min    int64
	Max    int64
	Shared bool
}

func (l Limits) String() string {
	limit := ""
	if l.Max >= 0 {
		limit = fmt.Sprint(l.Max)
	}
	return fmt.Sprintf("%d..%s", l.Min, limit)
}

// Module has what a host must know of a module. Create one with [Read].
type Module struct {
	Imports []Import
	Exports []Export
	Memory  *Limits // nil if the module has no memory

	wasm      []byte
	sections  []section
	types     []string // of functions
	arities   []arity  // of types
	functions []uint32 // the type of each function, imported ones first
	tables    []string
	globals   []global
	tags      []uint32
	imported  [Tag + 1]int // by kind
	elements  int64        // of all tables
	capacity  int64        // the sum of the maximums of the tables
	start     int64        // the start function, or -1
	data      []segment
	dataCount int64 // or -1

	changesTables string // the first instruction that does, or ""
	growsTables   bool
	dropsSegments bool
}

type global struct {
	typ     string
	mutable bool
}

func (g global) String() string {
	if g.mutable {
		return "mut " + g.typ
	}
	return g.typ
}

// segment is a data segment.
type segment struct {
	start, end uint32 // of the bytes in the module
	offset     uint32 // of an active segment in the memory
	mode       byte
}

// The modes of a segment. The offset of a computed one is an expression that is not a constant.
const (
	active = iota
	passive
	computed
)

// section is where a section is in the module.
type section struct {
	id         byte
	start, end int // with the id and the length
	content    int
}

// The ids of sections.
const (
	customSection = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	dataCountSection
	tagSection
)

//nolint:gochecknoglobals // a constant
var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data",
	"data count", "tag",
}

// order has the position of each section in a module.
//
//nolint:gochecknoglobals // a constant
var order = [...]byte{
	typeSection: 1, importSection: 2, functionSection: 3, tableSection: 4, memorySection: 5, tagSection: 6,
	globalSection: 7, exportSection: 8, startSection: 9, elementSection: 10, dataCountSection: 11, codeSection: 12,
	dataSection: 13,
}

//nolint:gochecknoglobals // a constant
var header = []byte("\x00asm\x01\x00\x00\x00")

// Read reads the sections of a module. The result refers to wasm, which must not change.
func Read(wasm []byte) (*Module, error) {
	if !bytes.HasPrefix(wasm, header) {
		if bytes.HasPrefix(wasm, header[:4]) {
			return nil, errors.New("not a core WebAssembly module of version 1: components are not supported")
		}
		return nil, errors.New("not a WebAssembly module: it does not start with \\0asm")
	}
	if int64(len(wasm)) > 1<<30 {
		return nil, fmt.Errorf("the module has %d bytes: at most 1 GiB is supported", len(wasm))
	}
	m := &Module{wasm: wasm, start: -1, dataCount: -1}
	r := &reader{wasm: wasm, pos: len(header), end: len(wasm)}
	last := byte(0)
	for r.left() > 0 {
		if len(m.sections) == maxSections {
			return nil, fmt.Errorf("the module has more than %d sections", maxSections)
		}
		s := section{start: r.pos}
		r.section, r.end = "the next", len(wasm)
		if s.id = r.byte(); int(s.id) >= len(sectionNames) {
			r.failf("the id %d is unknown", s.id)
			return nil, r.err
		}
		r.section = sectionNames[s.id]
		if s.id != customSection {
			if order[s.id] <= last {
				r.failf("the sections are in the wrong order")
				return nil, r.err
			}
			last = order[s.id]
		}
		n := r.u32()
		if int64(n) > int64(r.left()) {
			r.failf("its length %d is beyond the end of the module", n)
		}
		if r.err != nil {
			return nil, r.err
		}
		s.content, s.end = r.pos, r.pos+int(n)
		r.end = s.end
		m.sections = append(m.sections, s)
		m.section(r, s)
		if r.left() > 0 {
			r.failf("%d bytes are left over", r.left())
		}
		if r.err != nil {
			return nil, r.err
		}
		r.end = len(wasm)
	}
	return m, m.check()
}

// Bytes returns the module. It must not be changed.
func (m *Module) Bytes() []byte { return m.wasm }

// section reads one section.
func (m *Module) section(r *reader, s section) {
	switch s.id {
	case customSection:
		if r.name() == "name" {
			r.readNames()
		}
		if r.err == nil {
			r.pos = r.end
		}
	case typeSection:
		m.readTypes(r)
	case importSection:
		m.readImports(r)
	case functionSection:
		n := r.few(1)
		m.functions = slices.Grow(m.functions, n)
		for range n {
			m.functions = append(m.functions, m.typeIndex(r))
		}
	case tableSection:
		for range r.few(3) {
			m.addTable(r)
		}
	case memorySection:
		for range r.count(2) {
			m.addMemory(r)
		}
	case tagSection:
		for range r.few(2) {
			m.addTag(r)
		}
	case globalSection:
		for range r.few(3) {
			m.globals = append(m.globals, globalType(r))
			r.expression(nil)
		}
	case exportSection:
		m.readExports(r)
	case startSection:
		m.start = int64(r.u32())
		if m.start >= int64(len(m.functions)) {
			r.failf("function %d does not exist", m.start)
		}
	case dataSection:
		m.readData(r)
	case dataCountSection:
		m.dataCount = int64(r.u32())
	case elementSection:
		r.readElements()
	case codeSection:
		m.readCode(r)
	}
}

// check compares sections with each other.
func (m *Module) check() error {
	if m.growsTables && m.capacity > maxElements {
		return fmt.Errorf("code section: the tables can grow to more than %d elements: declare smaller maximums", maxElements)
	}
	if m.dataCount >= 0 && m.dataCount != int64(len(m.data)) {
		return fmt.Errorf("data count section: it has %d, but the data section has %d segments", m.dataCount, len(m.data))
	}
	return nil
}

func (m *Module) readTypes(r *reader) {
	const group, function = 0x4e, 0x60
	grouped, values := 0, 0
	for range r.few(1) {
		members := 1
		b := r.byte()
		if b == group {
			members = r.shared(3, &grouped)
			b = 0
		}
		for range members {
			if b == 0 {
				b = r.byte()
			}
			if b != function {
				r.failf("type %d is not the type of a function", len(m.types))
			}
			b = 0
			params := valueTypes(r, &values)
			t := "(" + params + ")"
			results := valueTypes(r, &values)
			if results != "" {
				t += " -> (" + results + ")"
			}
			if r.err != nil {
				return
			}
			m.types = append(m.types, t)
			m.arities = append(m.arities, arity{valuesIn(params), valuesIn(results)})
		}
	}
}

func (m *Module) readImports(r *reader) {
	for range r.few(4) {
		i := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
		switch i.Kind {
		case Function:
			m.functions = append(m.functions, m.typeIndex(r))
		case Table:
			m.addTable(r)
		case Memory:
			m.addMemory(r)
		case Global:
			m.globals = append(m.globals, globalType(r))
		case Tag:
			m.addTag(r)
		default:
			r.failf("an import has the unknown kind %d", byte(i.Kind))
		}
		if r.err != nil {
			return
		}
		m.imported[i.Kind]++
		m.Imports = append(m.Imports, i)
	}
}

func (m *Module) readExports(r *reader) {
	n := r.few(3)
	names := make(map[string]bool, min(n, 1024))
	for range n {
		e := Export{Name: r.name(), Kind: Kind(r.byte())}
		i := r.u32()
		if r.err != nil {
			return
		}
		if names[e.Name] {
			r.failf("two exports have the name %.100q", e.Name)
		}
		names[e.Name] = true
		switch {
		case e.Kind == Function && int64(i) < int64(len(m.functions)):
			e.Type = m.functionType(m.functions[i])
		case e.Kind == Table && int64(i) < int64(len(m.tables)):
			e.Type = m.tables[i]
		case e.Kind == Memory && i == 0 && m.Memory != nil:
			e.Type = m.Memory.String()
		case e.Kind == Global && int64(i) < int64(len(m.globals)):
			e.Type = m.globals[i].String()
		case e.Kind == Tag && int64(i) < int64(len(m.tags)):
			e.Type = m.functionType(m.tags[i])
		default:
			r.failf("export %.100q refers to %s %d, which does not exist", e.Name, e.Kind, i)
			return
		}
		m.Exports = append(m.Exports, e)
	}
}

func (m *Module) readData(r *reader) {
	n := r.few(2)
	m.data = make([]segment, 0, n)
	for range n {
		s := segment{}
		switch flags := r.u32(); flags {
		case 0, 2:
			if flags == 2 && r.u32() != 0 {
				r.failf("segment %d is for a memory other than 0", len(m.data))
			}
			s.mode = computed
			if r.expression(&s.offset) {
				s.mode = active
			}
		case 1:
			s.mode = passive
		default:
			r.failf("segment %d has the unknown flags %d", len(m.data), flags)
		}
		content := r.bytes()
		if r.err != nil {
			return
		}
		s.start, s.end = uint32(r.pos-len(content)), uint32(r.pos)
		m.data = append(m.data, s)
	}
}

func (m *Module) typeIndex(r *reader) uint32 {
	i := r.u32()
	if r.err == nil && int64(i) >= int64(len(m.types)) {
		r.failf("type %d does not exist", i)
		return 0
	}
	return i
}

func (m *Module) functionType(i uint32) string {
	if int64(i) < int64(len(m.types)) {
		return m.types[i]
	}
	return ""
}

func (m *Module) addTag(r *reader) {
	if r.byte() != 0 {
		r.failf("tag %d is not an exception", len(m.tags))
	}
	m.tags = append(m.tags, m.typeIndex(r))
}

func (m *Module) addMemory(r *reader) {
	l := limits(r)
	if m.Memory != nil {
		r.failf("the module has two memories: at most one is supported")
	}
	if l.Min > maxPages || l.Max > maxPages {
		r.failf("the memory has more than %d pages", maxPages)
	}
	m.Memory = &l
}

func limits(r *reader) Limits {
	flags := r.byte()
	if flags > 3 {
		r.failf("the flags %d of the limits are unknown", flags)
	}
	l := Limits{Min: int64(r.u32()), Max: -1, Shared: flags&2 != 0}
	if flags&1 != 0 {
		if l.Max = int64(r.u32()); l.Max < l.Min {
			r.failf("the maximum %d is less than the minimum %d", l.Max, l.Min)
		}
	}
	return l
}

// maxElements bounds the tables of a module.
const maxElements = 1 << 20

func (m *Module) addTable(r *reader) {
	const initialized = 0x40
	b := r.byte()
	hasInit := b == initialized
	if hasInit {
		if r.byte() != 0 {
			r.failf("a table has unknown flags")
		}
		b = r.byte()
	}
	t := valueType(r, b)
	l := limits(r)
	if hasInit {
		r.expression(nil)
	}
	if m.elements += l.Min; m.elements > maxElements {
		r.failf("the tables have more than %d elements", maxElements)
	}
	if l.Max < 0 {
		m.capacity += maxElements + 1
	} else {
		m.capacity += l.Max
	}
	m.tables = append(m.tables, t+" "+l.String())
}

func globalType(r *reader) global {
	g := global{typ: valueType(r, r.byte())}
	switch b := r.byte(); b {
	case 0:
	case 1:
		g.mutable = true
	default:
		r.failf("the mutability %d of a global is unknown", b)
	}
	return g
}

// valueTypes reads the types of values. The vectors before it have total types.
func valueTypes(r *reader, total *int) string {
	var b strings.Builder
	for i := range r.shared(1, total) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(valueType(r, r.byte()))
		if r.err != nil {
			return ""
		}
	}
	return b.String()
}

// valuesIn returns the number of types in a result of valueTypes.
func valuesIn(types string) int {
	if types == "" {
		return 0
	}
	return strings.Count(types, ",") + 1
}

// valueType returns the name of the type that starts with b.
func valueType(r *reader, b byte) string {
	switch b {
	case 0x7f:
		return "i32"
	case 0x7e:
		return "i64"
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	case 0x69:
		return "exnref"
	case 0x63:
		return fmt.Sprintf("(ref null %d)", r.signed(33))
	case 0x64:
		return fmt.Sprintf("(ref %d)", r.signed(33))
	}
	r.failf("the value type %#x is unknown", b)
	return ""
}
