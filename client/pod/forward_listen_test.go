// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
)

// listen opens a local port whose connections are served until the test ends.
func listen(t *testing.T, f *pod.PortForwarder, o *pod.ListenOptions) *pod.PortListener {
	t.Helper()
	l, err := f.Listen(t.Context(), "80", o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the test is over")
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Errorf("Run() = %v, want %v", err, cause)
		}
	})
	return l
}

func dialLocal(t *testing.T, addr net.Addr) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

func TestListenForwards(t *testing.T) {
	s := testserver.New(t, forwards(t, echoes))
	var mu sync.Mutex
	var made []string
	l := listen(t, forward(t, s), &pod.ListenOptions{
		OnConnect: func(_, remote net.Addr) {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, remote.String())
		},
		OnError: func(err error) { t.Error(err) },
	})
	ports := map[int]bool{}
	for _, addr := range l.Addrs() {
		ports[addr.(*net.TCPAddr).Port] = true
		conn := dialLocal(t, addr)
		sent := bytes.Repeat([]byte("some text "), 10_000)
		go func() { _, _ = conn.Write(sent) }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("the echo of %v differs, %v", addr, err)
		}
	}
	if len(ports) != 1 {
		t.Errorf("localhost has the ports %v, want one", ports)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(made) != len(l.Addrs()) || made[0] != "prod/web:80" {
		t.Errorf("connections = %v", made)
	}
}

// TestOneConnectionBreaks promises that what breaks one connection is told, and leaves the others alone.
func TestOneConnectionBreaks(t *testing.T) {
	var mu sync.Mutex
	n := 0
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		this := n
		mu.Unlock()
		switch this {
		case 2:
			forwards(t, func(s *socket, _ string) { s.send(1, "connection refused"); s.receive() })(w, r)
		case 3:
			testserver.Fail(w, 403, "Forbidden", "no more")
		default:
			forwards(t, echoes)(w, r)
		}
	})
	problems := make(chan error, 10)
	l := listen(t, forward(t, s), &pod.ListenOptions{Addresses: []string{"127.0.0.1"}, OnError: func(err error) { problems <- err }})
	whole := dialLocal(t, l.Addrs()[0])
	ping := func(conn net.Conn) error {
		if _, err := io.WriteString(conn, "ping"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 4))
		return err
	}
	if err := ping(whole); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addrs()[0].String())
		if err != nil {
			continue // it was reset before it was known to be made
		}
		if err := ping(conn); err == nil {
			t.Error("a broken connection works")
		}
		_ = conn.Close()
	}
	if err := <-problems; !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("first problem = %v, want connection refused", err)
	}
	if err := <-problems; !errors.Is(err, core.ErrForbidden) {
		t.Errorf("second problem = %v, want forbidden", err)
	}
	if err := ping(whole); err != nil {
		t.Errorf("the first connection: %v", err)
	}
	if err := ping(dialLocal(t, l.Addrs()[0])); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func TestAConnectionEndsWhenTheProgramEndsIt(t *testing.T) {
	s := testserver.New(t, forwards(t, func(s *socket, _ string) { s.send(0, "bye"); s.hangUp(1000, "") }))
	l := listen(t, forward(t, s), &pod.ListenOptions{OnError: func(err error) { t.Error(err) }})
	got, err := io.ReadAll(dialLocal(t, l.Addrs()[0]))
	if string(got) != "bye" || err != nil {
		t.Errorf("the connection gave %q, %v, want bye", got, err)
	}
}

func TestListenAddresses(t *testing.T) {
	f := forward(t, testserver.New(t, forwards(t, echoes)))
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := uint16(taken.Addr().(*net.TCPAddr).Port)
	if _, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: []string{"127.0.0.2", "127.0.0.1"}, LocalPort: port}); err == nil {
		t.Error("Listen() on an address that is taken is no error")
	}
	again, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: []string{"127.0.0.2"}, LocalPort: port})
	if err != nil {
		t.Fatalf("the other address was not given back: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- again.Run(context.Background()) }()
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run() of a listener that was closed = %v, want net.ErrClosed", err)
	}
}
