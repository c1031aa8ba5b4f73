// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reserved is the prefix of the exports that a rewritten module has in addition.
const reserved = "kube.image."

// Rewritten is a module that a host can take an image of. See the package's comment.
type Rewritten struct {
	Wasm    []byte
	Globals []string // the exports of the mutable globals
	Start   string   // the export of the start function, or ""

	Elements      int64 // of all tables
	DropsSegments bool  // the code has an instruction that does

	data    []segment
	content []byte // of the data section; the segments refer to it
}

// ErrNoImage is wrapped by errors about valid modules with state that an image does not have.
var ErrNoImage = errors.New("no image can be taken of the module")

// Rewrite returns the rewritten module. The error wraps [ErrNoImage] if the module has state that a host can't read or
// set: tables that its code changes, globals with references or vectors, a shared memory, or an imported memory, table
// or global.
func (m *Module) Rewrite() (*Rewritten, error) {
	if err := m.checkState(); err != nil {
		return nil, err
	}
	out := &Rewritten{Elements: m.elements, DropsSegments: m.dropsSegments, data: slices.Clone(m.data)}
	for _, s := range m.sections {
		if s.id == dataSection { // a copy, because the rest of the module is not needed any more
			out.content = bytes.Clone(m.wasm[s.content:s.end])
			for i := range out.data {
				out.data[i].start -= uint32(s.content)
				out.data[i].end -= uint32(s.content)
			}
		}
	}
	var exports []byte
	added := 0
	export := func(name string, k Kind, index int) string {
		exports = appendExport(exports, name, k, index)
		added++
		return name
	}
	for i, g := range m.globals {
		if g.mutable {
			out.Globals = append(out.Globals, export(reserved+"global."+strconv.Itoa(i), Global, i))
		}
	}
	if m.start >= 0 {
		out.Start = export(reserved+"start", Function, int(m.start))
	}
	out.Wasm = m.assemble(exports, added, false)
	return out, nil
}

// WithoutStart returns the module without its start section, also if no image can be taken of it, and the export of its
// start function, or "" if it has none.
func (m *Module) WithoutStart() (wasm []byte, start string, err error) {
	if m.start < 0 {
		return m.wasm, "", nil
	}
	start = reserved + "start"
	for _, e := range m.Exports {
		if e.Name == start {
			return nil, "", fmt.Errorf("the module has a start function and the export %s: rename the export", start)
		}
	}
	return m.assemble(appendExport(nil, start, Function, int(m.start)), 1, true), start, nil
}

// Segments calls f with the offset and the content of each active data segment, in order.
func (r *Rewritten) Segments(f func(offset uint32, content []byte) error) error {
	for i, s := range r.data {
		if s.mode != active {
			continue
		}
		if err := f(s.offset, r.content[s.start:s.end]); err != nil {
			return fmt.Errorf("data section: segment %d: %w", i, err)
		}
	}
	return nil
}

// checkState returns an error if the module has state that an image does not have.
func (m *Module) checkState() error {
	if m.Memory == nil || m.imported[Memory] > 0 {
		return fmt.Errorf("%w: it has no memory of its own", ErrNoImage)
	}
	if m.Memory.Shared {
		return fmt.Errorf("%w: its memory is shared", ErrNoImage)
	}
	if m.imported[Table] > 0 || m.imported[Global] > 0 {
		return fmt.Errorf("%w: it imports a table or a global", ErrNoImage)
	}
	for i, g := range m.globals {
		if g.mutable && !isNumber(g.typ) {
			return fmt.Errorf("%w: global %d is mutable and has the type %s", ErrNoImage, i, g.typ)
		}
	}
	for i, s := range m.data {
		if s.mode == computed {
			return fmt.Errorf("%w: the offset of data segment %d is not a constant", ErrNoImage, i)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, reserved) {
			return fmt.Errorf("%w: its export %.100q has the reserved prefix %s", ErrNoImage, e.Name, reserved)
		}
	}
	if m.changesTables != "" {
		return fmt.Errorf("%w: its code has the instruction %s", ErrNoImage, m.changesTables)
	}
	return nil
}

func isNumber(t string) bool { return t == "i32" || t == "i64" || t == "f32" || t == "f64" }

// assemble returns the module with further exports and without the start section. Its active data segments are left out
// unless segments is true.
func (m *Module) assemble(exports []byte, added int, segments bool) []byte {
	out := make([]byte, 0, len(m.wasm)+len(exports)+16)
	out = append(out, header...)
	done := added == 0
	for _, s := range m.sections {
		if !done && s.id != customSection && order[s.id] >= order[exportSection] {
			var old []byte
			count := added
			if s.id == exportSection {
				r := &reader{wasm: m.wasm, pos: s.content, end: s.end}
				count += int(r.u32())
				old = m.wasm[r.pos:s.end]
			}
			out = appendSection(out, exportSection, binary.AppendUvarint(nil, uint64(count)), old, exports)
			done = true
		} else if s.id == exportSection {
			out = append(out, m.wasm[s.start:s.end]...)
		}
		switch {
		case s.id == exportSection, s.id == startSection:
		case s.id == dataSection && !segments:
			out = m.appendData(out)
		default:
			out = append(out, m.wasm[s.start:s.end]...)
		}
	}
	if !done {
		out = appendSection(out, exportSection, binary.AppendUvarint(nil, uint64(added)), exports)
	}
	return out
}

// appendData appends the data section without active segments. If code refers to segments by index, an empty passive
// one is in the place of each: it behaves like an active segment after the instantiation.
func (m *Module) appendData(out []byte) []byte {
	if m.dataCount < 0 {
		return out // no instruction refers to a segment
	}
	content := binary.AppendUvarint(nil, uint64(len(m.data)))
	for _, s := range m.data {
		content = append(content, passive)
		if s.mode != passive {
			s.end = s.start
		}
		content = binary.AppendUvarint(content, uint64(s.end-s.start))
		content = append(content, m.wasm[s.start:s.end]...)
	}
	return appendSection(out, dataSection, content)
}

func appendSection(out []byte, id byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out = binary.AppendUvarint(append(out, id), uint64(n))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func appendExport(out []byte, name string, k Kind, index int) []byte {
	out = binary.AppendUvarint(out, uint64(len(name)))
	out = append(append(out, name...), byte(k))
	return binary.AppendUvarint(out, uint64(index))
}
