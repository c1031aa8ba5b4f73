// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

func size(_ context.Context, _ []string, std streams) error {
	terminal, ok := std.in.(*os.File)
	if !ok {
		return fmt.Errorf("standard input is not a terminal")
	}
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	defer signal.Stop(changes)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, terminal)
		ended <- err
	}()
	for {
		rows, columns, err := terminalSize(terminal)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(std.out, rows, columns); err != nil {
			return err
		}
		select {
		case <-changes:
		case err := <-ended:
			return err
		}
	}
}

// terminalSize returns the size of the terminal: see ioctl_tty(2).
func terminalSize(terminal *os.File) (rows, columns uint16, err error) {
	var answer struct{ rows, columns, width, height uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&answer)))
	if errno != 0 {
		return 0, 0, fmt.Errorf("size of the terminal: %w", errno)
	}
	return answer.rows, answer.columns, nil
}
