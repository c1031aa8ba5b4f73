// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import "cmp"

// expression skips instructions up to the end of an expression without blocks. It returns whether the expression is one
// constant of the type i32, which it stores in value.
func (r *reader) expression(value *uint32) bool {
	const constI32, end = 0x41, 0x0b
	constant := false
	for n := 0; r.err == nil; n++ {
		op := r.byte()
		switch op {
		case end:
			return constant && r.err == nil
		case constI32:
			v := r.signed(32)
			if constant = n == 0; constant && value != nil {
				*value = uint32(v)
			}
		default:
			constant = false
			r.immediates(op)
		}
	}
	return false
}

// readCode reads all instructions, to find those that change a table or drop a segment, and to limit what a compiler
// needs for them.
func (m *Module) readCode(r *reader) {
	cost := 0.0
	for i := range r.few(3) {
		size := r.u32()
		if uint64(size) > uint64(r.left()) {
			r.failf("function %d is longer than the section", i)
			return
		}
		end := r.pos + int(size)
		locals := uint64(0)
		for range r.count(2) {
			locals += uint64(r.u32())
			valueType(r, r.byte())
		}
		if locals > maxLocals { // for which a runtime also reserves memory
			r.failf("function %d has %d locals: at most %d are supported", i, locals, maxLocals)
		}
		w := m.newWeight(i, int(size), locals)
		for r.err == nil && r.pos < end {
			op := r.byte()
			w.add(op, *r)
			if !w.check(r, i) {
				return
			}
			switch name := r.immediates(op); name {
			case "":
			case dataDrop, elemDrop:
				m.dropsSegments = true
			default:
				m.growsTables = m.growsTables || name == tableGrow
				m.changesTables = cmp.Or(m.changesTables, name)
			}
		}
		if cost += w.cost(); cost > maxCost {
			r.failf("function %d and those before it are too complex to compile: make them smaller", i)
		}
		if r.err == nil && r.pos != end {
			r.failf("the code of function %d does not end where it should", i)
		}
		if r.err != nil {
			return
		}
	}
}

// readElements checks the counts in the section.
func (r *reader) readElements() {
	const passiveFlag, indexFlag, expressionFlag = 1, 2, 4
	items := 0
	for i := range r.few(3) {
		flags := r.u32()
		if flags > 7 {
			r.failf("segment %d has the unknown flags %d", i, flags)
		}
		if flags&passiveFlag == 0 {
			if flags&indexFlag != 0 {
				r.u32()
			}
			r.expression(nil)
		}
		if flags&(passiveFlag|indexFlag) != 0 {
			if b := r.byte(); flags&expressionFlag != 0 {
				valueType(r, b)
			}
		}
		for range r.shared(1, &items) {
			if flags&expressionFlag != 0 {
				r.expression(nil)
			} else {
				r.u32()
			}
			if r.err != nil {
				return
			}
		}
		if r.err != nil {
			return
		}
	}
}

// readNames checks the counts in the section of names.
func (r *reader) readNames() {
	const moduleName, functionNames, localNames = 0, 1, 2
	section, names := r.end, 0
	for r.err == nil && r.left() > 0 {
		id := r.byte()
		size := r.u32()
		if uint64(size) > uint64(r.left()) {
			r.failf("a subsection is longer than the section")
			return
		}
		r.end = r.pos + int(size)
		switch id {
		case moduleName:
			r.name()
		case functionNames:
			r.nameMap(&names)
		case localNames:
			for range r.shared(2, &names) {
				if r.u32(); r.err != nil {
					break
				}
				r.nameMap(&names)
			}
		default:
			r.pos = r.end
		}
		if r.left() > 0 {
			r.failf("%d bytes of a subsection are left over", r.left())
		}
		r.end = section
	}
}

// nameMap skips names. The maps before it have total names.
func (r *reader) nameMap(total *int) {
	for range r.shared(2, total) {
		if r.u32(); r.err != nil {
			return
		}
		r.name()
	}
}

const (
	tableGrow = "table.grow"
	dataDrop  = "data.drop"
	elemDrop  = "elem.drop"
)

// immediates skips what follows an opcode. It returns the name of the instruction if it changes a table or drops a
// segment.
func (r *reader) immediates(op byte) string {
	switch {
	case op >= 0x02 && op <= 0x04, op == 0x06: // block, loop, if, try
		r.blockType()
	case op == 0x1f: // try_table
		r.blockType()
		for range r.count(2) {
			if kind := r.byte(); kind < 2 { // catch and catch_ref have a tag
				r.u32()
			}
			r.u32()
		}
	case op == 0x07, op == 0x08, op == 0x09, op == 0x18, // catch, throw, rethrow, delegate
		op == 0x0c, op == 0x0d, op == 0xd5, op == 0xd6, // br, br_if, br_on_null, br_on_non_null
		op == 0x10, op == 0x12, op == 0x14, op == 0x15, // calls
		op >= 0x20 && op <= 0x25, // variables, table.get
		op == 0x3f, op == 0x40,   // memory.size, memory.grow
		op == 0xd2: // ref.func
		r.u32()
	case op == 0x26:
		return "table.set"
	case op == 0x11, op == 0x13: // call_indirect, return_call_indirect
		r.u32()
		r.u32()
	case op == 0x0e: // br_table
		for range r.count(1) {
			r.u32()
		}
		r.u32()
	case op == 0x1c: // select with types
		valueTypes(r, new(int))
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.memoryArgument()
	case op == 0x41:
		r.signed(32)
	case op == 0x42:
		r.signed(64)
	case op == 0x43:
		r.skip(4)
	case op == 0x44:
		r.skip(8)
	case op == 0xd0: // ref.null
		r.signed(33)
	case op == 0xfc:
		return r.bulk()
	case op == 0xfd:
		r.vector()
	case op == 0xfe:
		const fence = 0x03
		if r.u32() == fence {
			r.byte()
		} else {
			r.memoryArgument()
		}
	}
	return ""
}

// blockType skips the type of a block.
func (r *reader) blockType() {
	const nullable, nonNullable = 0x63, 0x64
	if r.pos < r.end && (r.wasm[r.pos] == nullable || r.wasm[r.pos] == nonNullable) {
		r.byte()
	}
	r.signed(33)
}

func (r *reader) memoryArgument() {
	r.u32()
	r.u32()
}

// bulk skips what follows the prefix of instructions for memories and tables.
func (r *reader) bulk() string {
	switch op := r.u32(); op {
	case 8, 10: // memory.init, memory.copy
		r.u32()
		r.u32()
	case 11, 16: // memory.fill, table.size
		r.u32()
	case 9:
		r.u32()
		return dataDrop
	case 13:
		r.u32()
		return elemDrop
	case 12:
		return "table.init"
	case 14:
		return "table.copy"
	case 15:
		return tableGrow
	case 17:
		return "table.fill"
	default:
		if op > 17 {
			r.failf("the instruction 0xfc %d is unknown", op)
		}
	}
	return ""
}

// vector skips what follows the prefix of vector instructions.
func (r *reader) vector() {
	switch op := r.u32(); {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.memoryArgument()
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		r.skip(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.memoryArgument()
		r.byte()
	}
}
