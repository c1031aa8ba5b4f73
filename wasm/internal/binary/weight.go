// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import "math"

// The limits of functions. The compiler of wazero needs time and memory that grow with the square of the blocks and
// branches of a function, and with the number of values that exist at them, so a small module could take all memory of
// the host. It also recurses once for each block. A program in Go of 21 MB has a function of 200 KB with 6,200 blocks
// and branches and a volume of 90,000. Its cost is 960,000. The worst modules that were found within the limits took
// 20 s and 240 MiB because of their cost, and 1 s and 420 MiB for a function of the maximum size without branches. Such
// a function costs 129,000, so a module has at most 31 of them.
const (
	maxLocals  = 5_000
	maxStack   = 10_000    // operands
	maxSize    = 640 << 10 // bytes, and one for each parameter and result of each call
	maxControl = 20_000    // blocks and branches
	maxLoops   = 2_000     // of the blocks
	maxVolume  = 500_000   // the sum of the locals and operands at each block, branch and target of a branch table
	maxCost    = 4_000_000 // of all functions; a unit is about 8 µs of CPU time
)

// arity has the numbers of parameters and results of a type.
type arity struct{ params, results int }

// block is a block that has not ended.
type block struct {
	base int // the operands before it
	arity
}

// weight is what the compilation of a function needs. It counts the operands of valid code; wazero refuses other code
// before it compiles it.
type weight struct {
	module *Module
	locals int // and parameters

	stack   int
	blocks  []block
	size    int
	control int
	loops   int
	volume  int
}

// newWeight returns the weight of a function without instructions.
func (m *Module) newWeight(function, size int, locals uint64) *weight {
	w := &weight{module: m, size: size, locals: int(min(locals, maxLocals))}
	a := m.arityOf(uint32(function + m.imported[Function]))
	w.locals += a.params
	w.blocks = append(w.blocks, block{arity: arity{results: a.results}})
	return w
}

// arityOf returns the arity of a function.
func (m *Module) arityOf(function uint32) arity {
	if int64(function) >= int64(len(m.functions)) {
		return arity{}
	}
	return m.arityOfType(int64(m.functions[function]))
}

// arityOfType returns the arity of a function type.
func (m *Module) arityOfType(t int64) arity {
	if t < 0 || t >= int64(len(m.arities)) {
		return arity{}
	}
	return m.arities[t]
}

// add counts an instruction. The reader is after its opcode; it is a copy.
func (w *weight) add(op byte, r reader) {
	switch op {
	case 0x02, 0x03, 0x04: // block, loop, if
		w.begin(op, &r)
	case 0x05: // else
		b := w.blocks[len(w.blocks)-1]
		w.stack = b.base + b.params
		w.branch(1)
	case 0x0b: // end
		w.end()
	case 0x0c: // br
		w.branch(1)
		w.unreachable()
	case 0x0d: // br_if
		w.push(-1)
		w.branch(1)
	case 0x0e: // br_table
		w.push(-1)
		w.branch(int(r.u32()) + 1)
		w.unreachable()
	case 0x00, 0x0f, 0x12, 0x13: // unreachable, return, return calls
		w.unreachable()
	case 0x10: // call
		w.call(w.module.arityOf(r.u32()))
	case 0x11: // call_indirect
		w.push(-1)
		w.call(w.module.arityOfType(int64(r.u32())))
	case 0xfc:
		w.push(bulkOperands(r.u32()))
	case 0xfd:
		w.push(vectorOperands(r.u32()))
	default:
		w.push(operands(op))
	}
}

// push adds operands to the stack, or removes them. Code that can't be reached may remove more than the block has.
func (w *weight) push(n int) {
	base := 0
	if len(w.blocks) > 0 {
		base = w.blocks[len(w.blocks)-1].base
	}
	w.stack = max(w.stack+n, base)
}

func (w *weight) call(a arity) {
	w.size += a.params + a.results
	w.push(-a.params)
	w.push(a.results)
}

// branch counts a control instruction with a number of targets.
func (w *weight) branch(targets int) {
	w.control++
	w.volume = min(w.volume+targets*(1+w.locals+w.stack), math.MaxInt32)
}

func (w *weight) unreachable() { w.push(-w.stack) }

func (w *weight) begin(op byte, r *reader) {
	if op == 0x04 {
		w.push(-1)
	}
	if op == 0x03 {
		w.loops++
	}
	w.branch(1)
	b := block{}
	switch t := r.signed(33); {
	case t >= 0:
		b.arity = w.module.arityOfType(t)
	case t != -64: // a type of one value
		b.results = 1
	}
	w.size += b.params + b.results
	b.base = max(0, w.stack-b.params)
	w.blocks = append(w.blocks, b)
}

func (w *weight) end() {
	n := len(w.blocks) - 1
	if n <= 0 {
		return // of the function
	}
	w.stack = w.blocks[n].base + w.blocks[n].results
	w.blocks = w.blocks[:n]
}

// check returns whether the function may be compiled.
func (w *weight) check(r *reader, function int) bool {
	for _, l := range [...]struct {
		what   string
		is, at int
	}{
		{"operands on the stack", w.stack, maxStack},
		{"bytes and operands of calls", w.size, maxSize},
		{"blocks and branches", w.control, maxControl},
		{"loops", w.loops, maxLoops},
		{"locals and operands at its blocks and branches in total", w.volume, maxVolume},
	} {
		if l.is > l.at {
			r.failf("function %d has %d %s: at most %d are supported", function, l.is, l.what, l.at)
			return false
		}
	}
	return true
}

// cost returns what the compilation of the function adds to the cost of the module. The factors are measured.
func (w *weight) cost() float64 {
	const function = 5 // units, whatever it contains
	square := func(n int) float64 { return float64(n) * float64(n) }
	return function +
		(3*square(w.control)+4*square(w.locals)+math.Pow(float64(w.volume), 1.5)+0.0003*square(w.size))/1000
}

// operands returns how many operands an instruction without a prefix adds to the stack. It is never too small.
func operands(op byte) int {
	switch {
	case op == 0x20, op == 0x23, op == 0x3f, op >= 0x41 && op <= 0x44: // local.get, global.get, memory.size, constants
		return 1
	case op == 0x1b, op == 0x1c, op == 0x26, op >= 0x36 && op <= 0x3e: // select, table.set, stores
		return -2
	case op == 0x1a, op == 0x21, op == 0x24, // drop, local.set, global.set
		op >= 0x46 && op <= 0x4f, op >= 0x51 && op <= 0x66, // comparisons
		op >= 0x6a && op <= 0x78, op >= 0x7c && op <= 0x8a, op >= 0x92 && op <= 0x98, op >= 0xa0 && op <= 0xa6: // arithmetic
		return -1
	case op == 0x01, op == 0x22, op == 0x25, op == 0x40, // nop, local.tee, table.get, memory.grow
		op >= 0x28 && op <= 0x35, op >= 0x45 && op <= 0xc4, // loads, operations with one operand
		op == 0xd1, op == 0xfe: // ref.is_null, atomic operations
		return 0
	}
	return 1
}

// bulkOperands is operands for instructions for memories and tables.
func bulkOperands(op uint32) int {
	switch op {
	case 8, 10, 11, 12, 14, 17: // init, copy and fill
		return -3
	case 15: // table.grow
		return -1
	case 16: // table.size
		return 1
	}
	return 0
}

// vectorOperands is operands for vector instructions.
func vectorOperands(op uint32) int {
	switch {
	case op == 11, op >= 88 && op <= 91: // stores
		return -2
	case op == 12: // v128.const
		return 1
	case op >= 13 && op <= 14, op >= 84 && op <= 87, // shuffle, swizzle, loads of lanes
		op == 23, op == 26, op == 28, op == 30, op == 32, op == 34: // replace_lane
		return -1
	}
	return 0 // others have one operand or more, and one result
}
