// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

package main

import (
	"encoding/binary"
	"os"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(id int32, precision int64, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(out unsafe.Pointer, n uint32) int32

//go:wasmimport wasi_snapshot_preview1 poll_oneoff
func pollOneoff(in, out unsafe.Pointer, n uint32, events unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 path_open
func pathOpen(dir, lookup int32, path unsafe.Pointer, n uint32, open int32, rights, inherit int64, flags int32,
	fd unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
func fdPrestatGet(fd int32, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 path_filestat_get
func pathFilestatGet(dir, lookup int32, path unsafe.Pointer, n uint32, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 path_create_directory
func pathCreateDirectory(dir int32, path unsafe.Pointer, n uint32) int32

//go:wasmimport wasi_snapshot_preview1 path_unlink_file
func pathUnlinkFile(dir int32, path unsafe.Pointer, n uint32) int32

//go:wasmimport wasi_snapshot_preview1 fd_read
func fdRead(fd int32, vectors unsafe.Pointer, n uint32, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 fd_write
func fdWrite(fd int32, vectors unsafe.Pointer, n uint32, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 fd_readdir
func fdReaddir(fd int32, buf unsafe.Pointer, n uint32, cookie int64, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 sock_recv
func sockRecv(fd int32, vectors unsafe.Pointer, n uint32, flags int32, out, outFlags unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 sock_send
func sockSend(fd int32, vectors unsafe.Pointer, n uint32, flags int32, out unsafe.Pointer) int32

//go:wasmimport wasi_snapshot_preview1 sock_shutdown
func sockShutdown(fd, how int32) int32

// scratch is memory of the system calls. It is not on a stack, because stacks move.
var scratch struct {
	out, out2  [64]byte
	vector     [8]byte
	in, events [64]byte
	path       [16]byte
}

func monotonic() int64 {
	clockTimeGet(1, 1, unsafe.Pointer(&scratch.out))
	return int64(binary.LittleEndian.Uint64(scratch.out[:]))
}

// waitFor waits in poll_oneoff for a clock, without descriptor 100.
func waitFor(millis int64) int64 {
	scratch.in = [64]byte{}
	binary.LittleEndian.PutUint32(scratch.in[16:], 1) // monotonic
	binary.LittleEndian.PutUint64(scratch.in[24:], uint64(millis)*1e6)
	in, events := unsafe.Pointer(&scratch.in), unsafe.Pointer(&scratch.events)
	if pollOneoff(in, events, 1, unsafe.Pointer(&scratch.out)) != 0 {
		return -1
	}
	return int64(binary.LittleEndian.Uint32(scratch.out[:]))
}

func wasi(name string) int32 {
	s := &scratch
	n := uint32(copy(s.path[:], "etc/passwd"))
	binary.LittleEndian.PutUint32(s.vector[:], uint32(uintptr(unsafe.Pointer(&s.in))))
	binary.LittleEndian.PutUint32(s.vector[4:], 1)
	path, vector, out := unsafe.Pointer(&s.path), unsafe.Pointer(&s.vector), unsafe.Pointer(&s.out)
	switch name {
	case "path_open":
		return pathOpen(3, 0, path, n, 0, 2, 0, 0, out)
	case "fd_prestat_get":
		return fdPrestatGet(3, out)
	case "path_filestat_get":
		return pathFilestatGet(3, 0, path, n, out)
	case "path_create_directory":
		return pathCreateDirectory(3, path, n)
	case "path_unlink_file":
		return pathUnlinkFile(3, path, n)
	case "fd_read_0":
		return fdRead(0, vector, 1, out)
	case "fd_read_3":
		return fdRead(3, vector, 1, out)
	case "fd_write_3":
		return fdWrite(3, vector, 1, out)
	case "fd_readdir":
		return fdReaddir(3, unsafe.Pointer(&s.in), 64, 0, out)
	case "sock_recv":
		return sockRecv(3, vector, 1, 0, out, unsafe.Pointer(&s.out2))
	case "sock_send":
		return sockSend(3, vector, 1, 0, out)
	case "sock_shutdown":
		return sockShutdown(3, 3)
	}
	return -1
}

// zero is never anything else, which the compiler does not know.
var zero int

var memory [][]byte

func recurse(n int) int {
	if zero != 0 {
		return n
	}
	return recurse(n+1) + n
}

func trap(kind string) {
	report("trap")
	trapped = true
	switch kind {
	case "unreachable":
		var p *int
		*p = 1
	case "exit0":
		os.Exit(0)
	case "exit3":
		os.Exit(3)
	case "stack":
		zero = recurse(1)
	case "deadlock":
		deadlock()
	case "memory":
		for {
			memory = append(memory, make([]byte, 1<<20))
		}
	case "loop":
		for zero == 0 {
		}
	}
	panic("as asked")
}
