// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"
)

// TestPluginAsksAtTerminalIfStdinIsNotOne: a program with a terminal reads its standard input from elsewhere, as in
// "cat web.yaml | apply", and its plugin asks for a password at the terminal.
func TestPluginAsksAtTerminalIfStdinIsNotOne(t *testing.T) {
	master, slave := openTerminal(t)
	var out bytes.Buffer
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), atTerminal+"=1", "GORACE=atexit_sleep_ms=0")
	program.Stdout, program.Stderr = &out, &out
	program.ExtraFiles = []*os.File{slave}
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if _, err := master.WriteString("s3cret\n"); err != nil {
		t.Fatal(err)
	}
	if err := program.Run(); err != nil || out.String() != "Bearer s3cret" {
		t.Errorf("the program printed %q, %v; want the token that was typed", out.String(), err)
	}
}

// openTerminal returns both sides of a new terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	master = open("/dev/ptmx")
	control := func(request uintptr, value *int32) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value)))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	var number int32
	control(syscall.TIOCSPTLCK, new(int32)) // unlocks the other side
	control(syscall.TIOCGPTN, &number)
	return master, open(fmt.Sprintf("/dev/pts/%d", number))
}
