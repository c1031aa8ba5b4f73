// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"log/slog"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"unsafe"

	"github.com/kube-go/sdk/client/internal/collector"
	"github.com/kube-go/sdk/client/internal/streams"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// maxPinned is the maximum number of bytes of memory that the host has allocated and not used yet.
const maxPinned = 256 << 20

//nolint:gochecknoglobals // a guest has one memory
var (
	pinned      = make(map[uint32][]byte) // keeps the memory that the host has allocated, by its address
	pinnedBytes int
	description []byte
	allocated   = []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	collected   uint64   // the value of allocated at the last collection for quiesce
	stalls      *os.File // descriptor abi.StallFD
)

// mainMain is the function main of the program, which nothing else calls in a reactor.
//
//go:linkname mainMain main.main
func mainMain()

//go:wasmexport kube_alloc
func alloc(size uint32) uint32 {
	if int64(size)+int64(pinnedBytes) > maxPinned {
		return 0
	}
	data := make([]byte, max(1, size))
	ptr := addressOf(data)
	pinned[ptr] = data
	pinnedBytes += len(data)
	return ptr
}

// take returns a message whose memory alloc has returned, which is then no longer pinned.
func take(ptr, n uint32) (message []byte, ok bool) {
	data, ok := pinned[ptr]
	if !ok {
		return nil, n == 0
	}
	delete(pinned, ptr)
	pinnedBytes -= len(data)
	if uint64(n) > uint64(len(data)) {
		return nil, false
	}
	return data[:n:n], true
}

//go:wasmexport kube_describe
func describe() uint64 {
	if description == nil {
		d := abi.Description{ABI: abi.Module, Profile: abi.ProfileActor}
		if info, ok := debug.ReadBuildInfo(); ok {
			d.Name, d.Version = path.Base(info.Path), info.Main.Version
		}
		description, _ = wire.MarshalJSON(d) // strings can be encoded
	}
	return uint64(addressOf(description))<<32 | uint64(len(description))
}

//go:wasmexport kube_start
func start(ptr, n uint32) int32 {
	message, ok := take(ptr, n)
	if !ok {
		return int32(abi.BadPointer)
	}
	s := new(abi.Startup)
	if err := wire.UnmarshalJSON(message, s); err != nil || startup != nil {
		return int32(abi.Invalid)
	}
	for name, value := range s.Env {
		if err := os.Setenv(name, value); err != nil {
			return int32(abi.Invalid)
		}
	}
	if err := collector.Set(s.Env["GOMEMLIMIT"], s.Env["GOGC"]); err != nil {
		logRecord(slog.LevelError, []byte(err.Error()))
		return int32(abi.Invalid)
	}
	startup = s
	os.Args = append([]string{s.Module}, s.Args...)
	slog.SetDefault(slog.New(newHandler()))
	go func() { // owned by the host, which ends the program
		mainMain()
		os.Exit(0)
	}()
	stall()
	return 0
}

//go:wasmexport kube_wake
func wake(id int64, ptr, n uint32, flags int32) int32 {
	data, ok := take(ptr, n)
	switch {
	case !ok:
		return int32(abi.BadPointer)
	case n == 0 && flags == 0:
		return int32(operations.Find(id).Depth())
	}
	s := operations.Deliver(id, streams.Item{Data: data, Flags: abi.Flags(flags)})
	if s != nil {
		stall()
	}
	return int32(s.Depth())
}

//go:wasmexport kube_tick
func tick() { stall() }

// garbage is the number of allocated bytes after which the memory is collected before it is stored. Otherwise the heap
// takes new pages until it has 4 MiB, and each restoration copies them.
const garbage = 256 << 10

// quiesce allows each request: the host unloads only what can't run, and a controller must tolerate its end.
//
//go:wasmexport kube_quiesce
func quiesce(reason int32) int32 {
	if reason != abi.ReasonUnload {
		return 0
	}
	metrics.Read(allocated) // runtime.ReadMemStats would change pages
	switch now := allocated[0].Value.Uint64(); {
	case collected == 0: // a collection changes pages that are still shared
		collected = now
	case now-collected >= garbage:
		collected = now
		runtime.GC()
		stall() // its goroutines have run
	}
	return 0
}

// stall returns when no other goroutine can run: the host reports the descriptor as readable only then.
func stall() {
	if stalls == nil {
		stalls = os.NewFile(abi.StallFD, "stall")
	}
	var b [1]byte
	if n, err := stalls.Read(b[:]); n != 1 {
		panic("kube: the host does not implement file descriptor 100: " + errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return "no data"
	}
	return err.Error()
}

func addressOf(data []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) }
