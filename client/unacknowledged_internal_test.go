// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package client

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

// TestUnacknowledgedDataIsLimited checks the options of the sockets. Losing packets requires privileges, so no test
// waits for the end of a connection.
func TestUnacknowledgedDataIsLimited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, stream := range []bool{false, true} {
		rt, err := newHTTP(&config.Config{}, stream, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := rt.DialContext(context.Background(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			delay, old := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpRTOMax)
			total, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
			if err != nil {
				t.Fatal(err)
			}
			wantTotal := 0
			if old != nil && !stream {
				wantTotal = unacknowledgedMax
			}
			if old == nil && delay != retransmitMax || total != wantTotal {
				t.Errorf("stream %t: delay %d (%v), total %d; want %d unless the kernel is old, and %d",
					stream, delay, old, total, retransmitMax, wantTotal)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}
