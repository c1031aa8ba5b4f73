// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestSizeFollowsTheTerminal(t *testing.T) {
	controller, terminal := openTerminal(t)
	resize(t, controller, 24, 80)
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run([]string{"size"}, streams{terminal, in, os.Stderr})
		_ = in.Close() // never fails
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if lines.Scan(); lines.Text() != want {
			t.Fatalf("it prints %q, want %q", lines.Text(), want)
		}
	}
	next("24 80")
	resize(t, controller, 50, 132)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil { // as the kernel does
		t.Fatal(err)
	}
	next("50 132")
	if _, err := controller.Write([]byte{4}); err != nil { // end of input
		t.Fatal(err)
	}
	if status := <-done; status != 0 {
		t.Errorf("it exits with %d at the end of input, want 0", status)
	}
}

func TestSizeWithoutATerminalIsAnError(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var stderr bytes.Buffer
	status := run([]string{"size"}, streams{file, io.Discard, &stderr})
	if want := "inappropriate ioctl"; status != 1 || !strings.Contains(stderr.String(), want) {
		t.Errorf("run(size) = %d and says %q, want 1 and %q", status, stderr.String(), want)
	}
}

// openTerminal returns both ends of a pseudo terminal: see pts(4).
func openTerminal(t *testing.T) (controller, terminal *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { controller.Close() })
	var number, unlock uint32
	ioctl(t, controller, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, controller, syscall.TIOCGPTN, unsafe.Pointer(&number))
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return controller, terminal
}

func resize(t *testing.T, controller *os.File, rows, columns uint16) {
	t.Helper()
	ioctl(t, controller, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{rows, columns}))
}

func ioctl(t *testing.T, file *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(argument)); errno != 0 {
		t.Fatalf("ioctl %#x: %v", request, errno)
	}
}
