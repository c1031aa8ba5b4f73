// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command forwarder makes the API server available to the pods of a node at the address of its service, as kube-proxy
// does in other clusters. It forwards each connection that arrives at an address from a network device. The address can
// be used on other devices at the same time, by the nodes of other clusters. When it listens, it writes its process ID
// to a file.
//
//	forwarder DEVICE ADDRESS TARGET FILE
//
// It uses only the standard library, and is built from this one file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: forwarder DEVICE ADDRESS TARGET FILE")
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	fmt.Fprintln(os.Stderr, "forwarder:", err)
	os.Exit(1)
}

func run(device, address, target, file string) error {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var bound error
		err := c.Control(func(fd uintptr) {
			bound = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, device)
		})
		return errors.Join(err, bound)
	}}
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	for {
		from, err := listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		go forward(from.(*net.TCPConn), target)
	}
}

// forward forwards a connection until both sides have ended. If the target can't be reached, it resets the connection,
// so that the client does not take it for a response.
func forward(from *net.TCPConn, target string) {
	defer func() { _ = from.Close() }() // it may be closed already
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, "forwarder:", err)
		_ = from.SetLinger(0)
		return
	}
	to := conn.(*net.TCPConn)
	defer func() { _ = to.Close() }()
	var wg sync.WaitGroup
	wg.Go(func() { transfer(to, from) })
	wg.Go(func() { transfer(from, to) })
	wg.Wait()
}

// transfer copies what one side sends until its end, and then ends the input of the other side. After an error, it
// closes both connections, because the other direction may never end.
func transfer(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err == nil && to.CloseWrite() == nil {
		return
	}
	_ = from.Close()
	_ = to.Close()
}
