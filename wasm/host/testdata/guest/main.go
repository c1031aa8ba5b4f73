// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

// Guest is an actor for the tests of package host, written against the interface itself.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/kube-go/sdk/core/abi"
)

//go:wasmimport kube_v1 submit
func submit(op int32, ptr unsafe.Pointer, size int32, deadline int64) int64

//go:wasmimport kube_v1 call
func call(op int32, ptr unsafe.Pointer, size int32, out unsafe.Pointer, capacity int32) int64

//go:wasmimport kube_v1 log
func log(level int32, ptr unsafe.Pointer, size int32)

type item struct {
	data  []byte
	flags abi.Flags
}

var (
	stall     = os.NewFile(abi.StallFD, "stall")
	buffers   = map[uintptr][]byte{}
	described []byte // what describe has returned
	streams   = map[int64]chan item{}
)

func run() {
	var b [1]byte
	if _, err := stall.Read(b[:]); err != nil {
		panic(err)
	}
}

func say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	log(0, unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
}

//go:wasmexport kube_alloc
func alloc(size int32) unsafe.Pointer {
	b := make([]byte, size)
	p := unsafe.Pointer(unsafe.SliceData(b))
	buffers[uintptr(p)] = b
	return p
}

func take(p unsafe.Pointer) []byte {
	b := buffers[uintptr(p)]
	delete(buffers, uintptr(p))
	return b
}

//go:wasmexport kube_describe
func describe() int64 {
	text, _ := json.Marshal(abi.Description{ABI: abi.Module, Profile: abi.ProfileActor, Name: "test"})
	described = text
	return int64(uintptr(unsafe.Pointer(&text[0])))<<32 | int64(len(text))
}

//go:wasmexport kube_start
func start(p unsafe.Pointer, _ int32) int32 {
	var s abi.Startup
	if err := json.Unmarshal(take(p), &s); err != nil {
		return int32(abi.Invalid)
	}
	go program(s)
	run()
	return 0
}

//go:wasmexport kube_wake
func wake(id int64, p unsafe.Pointer, size, flags int32) int32 {
	s := streams[id]
	if s == nil {
		return 0
	}
	if size > 0 || flags != 0 {
		s <- item{take(p), abi.Flags(flags)}
		run()
	}
	return int32(len(s))
}

//go:wasmexport kube_tick
func tick() { run() }

func open(op abi.Operation, message []byte) (int64, chan item) {
	id := submit(int32(op), unsafe.Pointer(unsafe.SliceData(message)), int32(len(message)), 0)
	s := make(chan item, 100000)
	if id > 0 {
		streams[id] = s
	}
	return id, s
}

func request(r abi.Request, body string) []byte {
	head, _ := json.Marshal(r)
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...), body...)
}

func program(s abi.Startup) {
	switch s.Args[0] {
	case "get":
		_, items := open(abi.OpRequest, request(abi.Request{Method: "GET", URL: s.Args[1]}, ""))
		head, size := <-items, 0
		for last := head; last.flags&abi.FlagLast == 0; {
			last = <-items
			size += len(last.data)
			if last.flags&abi.FlagError != 0 {
				say("error %s", last.data)
			}
		}
		say("response %s with %d bytes", head.data, size)
	case "watch":
		w, _ := json.Marshal(abi.Watch{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true})
		id, items := open(abi.OpWatch, w)
		for it := range items {
			for data := it.data; len(data) > 0; {
				n := binary.LittleEndian.Uint32(data)
				var c abi.Change
				_ = json.Unmarshal(data[4:4+n], &c)
				data = data[4+n:]
				m := binary.LittleEndian.Uint32(data)
				data = data[4+m:]
				say("%s %s/%s, %v bytes", c.Type, c.Namespace, c.Name, m > 0)
				get, _ := json.Marshal(abi.Get{Watch: id, Namespace: c.Namespace, Name: c.Name})
				out := make([]byte, 1<<16)
				say("get %v", call(int32(abi.OpGet), unsafe.Pointer(&get[0]), int32(len(get)), unsafe.Pointer(&out[0]), 1<<16) > 0)
			}
			if it.flags&abi.FlagSynced != 0 {
				say("synced")
			}
		}
	case "ticker":
		t := time.NewTicker(20 * time.Millisecond)
		for n := range 5 {
			<-t.C
			say("tick %d", n)
		}
		time.Sleep(10 * time.Millisecond)
		say("slept")
	case "idle":
		state := []string{"begun"}
		for n := range 3 {
			time.Sleep(300 * time.Millisecond)
			state = append(state, fmt.Sprint(n))
		}
		say("idle %v", state)
	case "loop":
		for {
		}
	case "panic":
		panic("on purpose")
	case "bomb":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			all[len(all)-1][0] = 1
		}
	}
}

func main() {}
