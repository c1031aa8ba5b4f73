// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1 && !reconciler

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/kube-go/sdk/core/abi"
)

const description = `{"abi":"kube_v1","profile":"actor","name":"conformance","version":"1","unknown":{}}`

// item is what kube_wake receives.
type item struct {
	id    int64
	data  []byte
	flags abi.Flags
}

// operation is an operation of the guest. Its mode is l (reports each item), q (counts), h (does not read items until
// the command read), H (as h for a watch, and reports the changes when it reads them), w (reports the changes of a
// watch), d (one of many delays) or c (the stream of commands).
type operation struct {
	mode                  byte
	due                   int64
	items, bytes, changes int
	flags                 abi.Flags
	ended                 bool
	held                  []item
}

var (
	operations                     = map[int64]*operation{}
	lastID                         int64
	asks, ticks, quiesces, counter int
	failingAllocs, quiesceCode     int64
	timers                         struct{ left, early int }
	startup                        []byte
	mailbox                        = queue{wake: sync.NewCond(&sync.Mutex{})}
	stall                          = os.NewFile(abi.StallFD, "stall")
	deadlocked                     bool
)

// queue has the items that the goroutine of the guest has not processed. It has no limit, because kube_wake must not
// block.
type queue struct {
	wake  *sync.Cond
	items []item
}

func (q *queue) push(i item) {
	q.wake.L.Lock()
	q.items = append(q.items, i)
	q.wake.L.Unlock()
	q.wake.Signal()
}

func (q *queue) pop() item {
	q.wake.L.Lock()
	defer q.wake.L.Unlock()
	for len(q.items) == 0 {
		q.wake.Wait()
	}
	i := q.items[0]
	q.items = q.items[1:]
	return i
}

// settle returns when all other goroutines wait.
func settle() {
	var b [1]byte
	if _, err := stall.Read(b[:]); err != nil {
		report("! stall: %v", err)
	}
	if deadlocked {
		select {}
	}
}

// deadlock ends the goroutine that runs commands, and lets the export wait for it.
func deadlock() {
	deadlocked = true
	select {}
}

func begin(mode byte, id int64) int64 {
	if id <= 0 {
		return id
	}
	if id <= lastID {
		violations++
		report("! id %d follows %d", id, lastID)
		return id
	}
	lastID = id
	operations[id] = &operation{mode: mode}
	return id
}

func unframe(data *[]byte) ([]byte, bool) {
	if len(*data) < 4 {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(*data)
	if int(n) > len(*data)-4 {
		return nil, false
	}
	text := (*data)[4 : 4+n]
	*data = (*data)[4+n:]
	return text, true
}

// changes calls a function for each change of an item, and returns the rest of the item.
func changes(data []byte, do func(change, object []byte)) []byte {
	for {
		rest := data
		change, ok := unframe(&rest)
		if !ok {
			return data
		}
		object, ok := unframe(&rest)
		if !ok {
			return data
		}
		do(change, object)
		data = rest
	}
}

func show(mode byte, i item) {
	if mode != 'w' && mode != 'H' || i.flags&abi.FlagError != 0 {
		report("+ %d %d %d %s", i.id, i.flags, len(i.data), shown(i.data, 1500))
		return
	}
	rest := changes(i.data, func(change, object []byte) {
		report("~ %d %d %s %d %s", i.id, i.flags, change, len(object), object[:min(len(object), 1500)])
	})
	if len(rest) > 0 {
		report("! %d bytes follow the changes", len(rest))
	}
	report("+ %d %d %d", i.id, i.flags, len(i.data))
}

// run runs a command. Its first word is a number that the report repeats.
func run(line string) {
	w := &words{line}
	seq, name := w.next(), w.next()
	if common(seq, name, w) {
		return
	}
	switch name {
	case "submit":
		mode, op, deadline, message := w.next()[0], int32(w.number()), w.number(), w.hex()
		id := begin(mode, submit(op, unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)), deadline))
		report("= %s %d", seq, id)
	case "cancel":
		id := w.number()
		if o := operations[id]; o != nil {
			o.ended = true
		}
		cancel(id)
		report("= %s done", seq)
	case "submit-cancel": // without a return to the host in between
		op, message := int32(w.number()), w.hex()
		id := begin('l', submit(op, unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)), 0))
		if o := operations[id]; o != nil {
			o.ended = true
		}
		cancel(id)
		cancel(id)
		report("= %s %d", seq, id)
	case "read":
		o, n := operations[w.number()], int(w.number())
		n = min(n, len(o.held))
		for _, i := range o.held[:n] {
			if o.mode == 'H' {
				show(o.mode, i)
			}
		}
		o.held = o.held[n:]
		report("= %s %d", seq, n)
	case "statistics":
		o := operations[w.number()]
		if o == nil {
			report("= %s none", seq)
			return
		}
		report("= %s %d %d %d %d %d", seq, o.items, o.bytes, o.changes, o.flags, len(o.held))
	case "delays":
		delays(seq, w.number(), w.number())
	case "sleep":
		pause := time.Duration(w.number()) * time.Millisecond
		report("= %s done", seq)
		go func() {
			time.Sleep(pause)
			report("t %s", seq)
		}()
	case "startup":
		report("= %s %s", seq, startup)
	case "count":
		counter++
		report("= %s %d", seq, counter)
	case "counters":
		report("= %s violations=%d asks=%d ticks=%d quiesces=%d", seq, violations, asks, ticks, quiesces)
	case "fail-alloc":
		failingAllocs = w.number()
		report("= %s done", seq)
	case "quiesce":
		quiesceCode = w.number()
		report("= %s done", seq)
	default:
		report("= %s unknown command %s", seq, name)
	}
}

func delays(seq string, n, within int64) {
	timers.left, timers.early = 0, 0
	refused := 0
	for i := range n {
		millis := i * 7919 % within
		due := monotonic() + millis*1e6
		message := fmt.Appendf(nil, `{"millis":%d}`, millis)
		id := begin('d', submit(int32(abi.OpDelay), unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)), 0))
		o := operations[id]
		if o == nil {
			refused++
			continue
		}
		o.due = due
		timers.left++
	}
	report("= %s %d", seq, refused)
}

// interpret processes items until the program ends.
func interpret() {
	var line strings.Builder
	for {
		i := mailbox.pop()
		o := operations[i.id]
		if o == nil {
			continue
		}
		if o.ended {
			violations++
			report("! item of %d after its end", i.id)
			continue
		}
		receive(o, i, &line)
	}
}

func receive(o *operation, i item, line *strings.Builder) {
	o.ended = i.flags&abi.FlagLast != 0
	if i.flags&abi.FlagError != 0 && !o.ended {
		report("! error of %d is not the last item", i.id)
	}
	o.items++
	o.bytes += len(i.data)
	o.flags |= i.flags
	if (o.mode == 'q' || o.mode == 'h') && i.flags != abi.FlagLast {
		changes(i.data, func(change, _ []byte) {
			if !bytes.HasPrefix(change, []byte(`{"type":"seen"`)) {
				o.changes++
			}
		})
	}
	switch o.mode {
	case 'c':
		if o.items == 1 {
			return // the head of the response
		}
		for _, c := range i.data {
			if c != '\n' {
				line.WriteByte(c)
				continue
			}
			command := line.String()
			line.Reset()
			run(command)
		}
	case 'l', 'w':
		show(o.mode, i)
	case 'h', 'H':
		o.held = append(o.held, i)
	case 'd':
		if monotonic() < o.due {
			timers.early++
		}
		if i.flags != abi.FlagLast || len(i.data) > 0 {
			violations++
		}
		if timers.left--; timers.left == 0 {
			report("d %d", timers.early)
		}
	}
}

//go:wasmexport kube_start
func startExport(ptr, n uint32) int32 {
	enter("kube_start")
	defer leave()
	startup = take(ptr, n)
	var s abi.Startup
	if err := json.Unmarshal(startup, &s); err != nil {
		return int32(invalid)
	}
	self = s.Module
	report("start")
	go interpret()
	code := int32(0)
	for _, line := range s.Args {
		w := &words{line}
		switch name := w.next(); name {
		case "control":
			control()
		case "code":
			code = int32(w.number())
		default:
			run(line)
		}
	}
	settle()
	return code
}

// control submits the request whose response has the commands of the suite.
func control() {
	head, err := json.Marshal(abi.Request{Method: "GET", URL: "/test/control/" + self})
	if err != nil {
		panic(err)
	}
	message := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	id := submit(int32(abi.OpRequest), unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)), 0)
	if begin('c', id) < 0 {
		report("! control: %d", id)
	}
}

//go:wasmexport kube_wake
func wakeExport(id int64, ptr, n uint32, flags int32) int32 {
	enter("kube_wake")
	defer leave()
	if n == 0 && flags == 0 {
		asks++
	} else {
		var data []byte
		if n > 0 {
			data = take(ptr, n)
		}
		mailbox.push(item{id, data, abi.Flags(flags)})
	}
	settle()
	if o := operations[id]; o != nil {
		return int32(len(o.held))
	}
	return 0
}

//go:wasmexport kube_tick
func tickExport() {
	enter("kube_tick")
	defer leave()
	ticks++
	settle()
}

//go:wasmexport kube_quiesce
func quiesceExport(reason int32) int32 {
	enter("kube_quiesce")
	defer leave()
	quiesces++
	report("q %d", reason)
	return int32(quiesceCode)
}

//go:wasmexport kube_alloc
func allocExport(size uint32) uint32 {
	enter("kube_alloc")
	defer leave()
	if failingAllocs > 0 {
		failingAllocs--
		return 0
	}
	return alloc(size)
}
