// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

// The guest of the conformance suite in Go, as an actor or, with the build tag reconciler, as a reconciler. It is
// written directly against the interface, and does what the suite asks for; see doc.go of the suite for the commands
// and the reports.
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"github.com/kube-go/sdk/core/abi"
)

func main() {}

//go:wasmimport kube_v1 submit
func submitAt(op int32, ptr, n uint32, deadline int64) int64

//go:wasmimport kube_v1 submit
func submit(op int32, ptr unsafe.Pointer, n uint32, deadline int64) int64

//go:wasmimport kube_v1 cancel
func cancel(id int64)

//go:wasmimport kube_v1 call
func call(op int32, ptr unsafe.Pointer, n uint32, out unsafe.Pointer, capacity uint32) int64

//go:wasmimport kube_v1 call
func callAt(op int32, ptr unsafe.Pointer, n uint32, out, capacity uint32) int64

//go:wasmimport kube_v1 fetch
func fetch(out unsafe.Pointer, capacity uint32) int64

//go:wasmimport kube_v1 fetch
func fetchAt(out, capacity uint32) int64

//go:wasmimport kube_v1 log
func log(level int32, ptr unsafe.Pointer, n uint32)

//go:wasmimport kube_v1 log
func logAt(level int32, ptr, n uint32)

// self is the name of the module, or the key of the reconciled object.
var self = "?"

func report(format string, args ...any) {
	text := "@" + self + " " + fmt.Sprintf(format, args...)
	logText(0, text[:min(len(text), 4095)])
}

func logText(level int32, text string) {
	log(level, unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

// The host must not call an export while another one runs, or after a trap.
var (
	inside, violations int
	trapped            bool
)

func enter(export string) {
	if inside > 0 || trapped {
		violations++
		when := "while an export ran"
		if trapped {
			when = "after a trap"
		}
		report("! %s was called %s", export, when)
	}
	inside++
}

func leave() { inside-- }

// messages are the messages that the host has written, or is about to write.
var messages = map[uint32][]byte{}

func alloc(size uint32) uint32 {
	data := make([]byte, max(size, 1))
	ptr := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	messages[ptr] = data
	return ptr
}

func take(ptr, n uint32) []byte {
	data := messages[ptr]
	delete(messages, ptr)
	return data[:min(int(n), len(data))]
}

// result keeps a message for the host, which reads it after the export has returned.
var result []byte

func packed(data []byte) int64 {
	result = data
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))<<32 | int64(len(data))
}

//go:wasmexport kube_describe
func describe() int64 { return packed([]byte(description)) }

// words reads the words of a command.
type words struct{ rest string }

func (w *words) next() string {
	var word string
	word, w.rest, _ = strings.Cut(strings.TrimLeft(w.rest, " "), " ")
	return word
}

func (w *words) number() int64 {
	n, err := strconv.ParseInt(w.next(), 0, 64)
	if err != nil {
		report("! %v", err)
	}
	return n
}

func (w *words) hex() []byte {
	data, err := hex.DecodeString(w.next())
	if err != nil {
		report("! %v", err)
	}
	return data
}

// shown returns the beginning of data on one line.
func shown(data []byte, limit int) string {
	data = []byte(string(data[:min(limit, len(data))]))
	for i, c := range data {
		if c == 0 || c == '\n' {
			data[i] = ' '
		}
	}
	return string(data)
}

func resulted(seq string, n int64, out []byte) {
	report("= %s %d %s", seq, n, shown(out[:min(max(n, 0), int64(len(out)))], 1800))
}

// common runs the commands of both profiles. It returns false if there is no such command.
func common(seq, name string, w *words) bool {
	switch name {
	case "call":
		op, capacity, message := int32(w.number()), w.number(), w.hex()
		out := []byte(strings.Repeat("#", int(capacity)+1))
		n := call(op, unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)),
			unsafe.Pointer(unsafe.SliceData(out)), uint32(capacity))
		switch {
		case n <= capacity:
			resulted(seq, n, out)
		case strings.Trim(string(out), "#") == "":
			report("= %s %d untouched", seq, n)
		default:
			report("= %s %d written", seq, n)
		}
	case "fetch":
		out := make([]byte, w.number())
		n := fetch(unsafe.Pointer(unsafe.SliceData(out)), uint32(len(out)))
		if n > int64(len(out)) {
			out = nil
		}
		resulted(seq, n, out)
	case "submit-pointer":
		report("= %s %d", seq, submitAt(int32(w.number()), uint32(w.number()), uint32(w.number()), 0))
	case "call-pointer":
		op, message := int32(w.number()), w.hex()
		report("= %s %d", seq, callAt(op, unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)),
			uint32(w.number()), uint32(w.number())))
	case "fetch-pointer":
		report("= %s %d", seq, fetchAt(uint32(w.number()), uint32(w.number())))
	case "log-pointer":
		logAt(0, uint32(w.number()), uint32(w.number()))
		report("= %s done", seq)
	case "submit-filled": // a message of some length
		op, message := int32(w.number()), make([]byte, w.number())
		report("= %s %d", seq, submit(op, unsafe.Pointer(unsafe.SliceData(message)), uint32(len(message)), 0))
	case "log":
		level := int32(w.number())
		logText(level, string(w.hex()))
		report("= %s done", seq)
	case "log-filled":
		logText(0, strings.Repeat("x", int(w.number())))
		report("= %s done", seq)
	case "log-many":
		for range w.number() {
			logText(0, "flood")
		}
		report("= %s done", seq)
	case "wasi":
		report("= %s %d", seq, wasi(w.next()))
	case "clock":
		report("= %s %d", seq, monotonic())
	case "wait":
		report("= %s %d", seq, waitFor(w.number()))
	case "random":
		var r [8]byte
		randomGet(unsafe.Pointer(&r), 8)
		report("= %s %x", seq, r)
	case "environ":
		report("= %s %s", seq, strings.Join(os.Environ(), " "))
	case "arguments":
		report("= %s %d", seq, len(os.Args))
	case "print":
		n, err := os.Stdout.Write(w.hex())
		if err != nil {
			report("! print: %v", err)
		}
		report("= %s %d", seq, n)
	case "trap":
		trap(w.next())
	default:
		return false
	}
	return true
}

// Codes of refused messages are in the reports as numbers; this is the one that the guest itself returns.
const invalid = int64(abi.Invalid)
