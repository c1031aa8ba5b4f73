// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
)

// listen opens a local port and serves its connections until the test ends.
func listen(t *testing.T, f *pod.PortForwarder, o *pod.ListenOptions) *pod.PortListener {
	t.Helper()
	l, err := f.Listen(t.Context(), "80", o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the test has ended")
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

// ping sends data to a port that echoes it, and receives it.
func ping(conn net.Conn) error {
	if _, err := io.WriteString(conn, "ping"); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 4))
	return err
}

func TestListenerForwardsConnections(t *testing.T) {
	s := testserver.New(t, forwards(t, echoes))
	var mu sync.Mutex // guards connected
	var connected []string
	l := listen(t, forward(t, s), &pod.ListenOptions{
		OnConnect: func(_, remote net.Addr) {
			mu.Lock()
			defer mu.Unlock()
			connected = append(connected, remote.String())
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
			t.Errorf("ReadFull() from %v = %v, want the sent data", addr, err)
		}
	}
	if len(ports) != 1 {
		t.Errorf("localhost has ports %v, want one port", ports)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(connected) != len(l.Addrs()) || connected[0] != "prod/web:80" {
		t.Errorf("connections = %v, want prod/web:80 for each address", connected)
	}
}

// TestBrokenConnectionIsLogged checks that a connection that can't be made is not silently reset.
func TestBrokenConnectionIsLogged(t *testing.T) {
	out, in := io.Pipe()
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(in, nil)))
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 403, "Forbidden", "no more") })
	l := listen(t, forward(t, s), &pod.ListenOptions{Addresses: []string{"127.0.0.1"}})
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addrs()[0].String()); err == nil {
		defer conn.Close() // otherwise it was reset before DialContext returned
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "no more") {
		t.Errorf("the log has %q, %v", line, err)
	}
}

// TestBrokenConnectionDoesNotAffectOthers checks that OnError receives the error of a connection, and that the other
// connections continue.
func TestBrokenConnectionDoesNotAffectOthers(t *testing.T) {
	var mu sync.Mutex // guards n
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
	failures := make(chan error, 10)
	l := listen(t, forward(t, s), &pod.ListenOptions{
		Addresses: []string{"127.0.0.1"},
		OnError:   func(err error) { failures <- err },
	})
	whole := dialLocal(t, l.Addrs()[0])
	if err := ping(whole); err != nil {
		t.Fatal(err)
	}
	next := func() error { // returns the error of a broken connection
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addrs()[0].String())
		if err == nil { // otherwise it was reset before Dial returned
			if ping(conn) == nil {
				t.Error("ping over a broken connection = nil, want an error")
			}
			_ = conn.Close()
		}
		return <-failures // OnError is called after the connection was closed
	}
	if err := next(); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("first error = %v, want connection refused", err)
	}
	if err := next(); !errors.Is(err, core.ErrForbidden) {
		t.Errorf("second error = %v, want forbidden", err)
	}
	if err := ping(whole); err != nil {
		t.Errorf("ping over the first connection: %v", err)
	}
	if err := ping(dialLocal(t, l.Addrs()[0])); err != nil {
		t.Errorf("ping over a new connection: %v", err)
	}
}

// TestCloseKeepsConnections checks that existing connections continue after Close, that new ones are refused, and that
// Run returns when the last connection has ended, or when its context ends.
func TestCloseKeepsConnections(t *testing.T) {
	cause := errors.New("the test has ended")
	for _, tc := range []struct {
		name string
		end  func(hangUp func(), cancel context.CancelCauseFunc)
		want error
	}{
		{"the pod hangs up", func(hangUp func(), _ context.CancelCauseFunc) { hangUp() }, net.ErrClosed},
		{"the context ends", func(_ func(), cancel context.CancelCauseFunc) { cancel(cause) }, cause},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := forward(t, testserver.New(t, forwards(t, func(s *socket, _ string) {
				for _, data, ok := s.receive(); ok; _, data, ok = s.receive() {
					if data == "bye!" {
						s.hangUp(1000, "")
						return
					}
					s.send(0, data)
				}
			})))
			l, err := f.Listen(t.Context(), "80", &pod.ListenOptions{OnError: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() { done <- l.Run(ctx) }()
			conn := dialLocal(t, l.Addrs()[0])
			if err := ping(conn); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			for _, addr := range l.Addrs() {
				if other, err := new(net.Dialer).DialContext(t.Context(), addr.Network(), addr.String()); err == nil {
					other.Close()
					t.Errorf("%v accepts connections after Close", addr)
				}
			}
			for range 10 {
				if err := ping(conn); err != nil {
					t.Fatalf("ping after Close: %v", err)
				}
			}
			select {
			case err := <-done:
				t.Fatalf("Run() = %v before the connection has ended", err)
			default:
			}
			tc.end(func() { _, _ = io.WriteString(conn, "bye!") }, cancel)
			if err := <-done; !errors.Is(err, tc.want) {
				t.Errorf("Run() = %v, want %v", err, tc.want)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("the connection continues after Run has returned")
			}
		})
	}
}

// TestListenOnSeveralAddresses checks that each address is used once, and that each has one IP family.
func TestListenOnSeveralAddresses(t *testing.T) {
	six, err := new(net.ListenConfig).Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skip("needs IPv6: ", err)
	}
	six.Close()
	f := forward(t, testserver.New(t, forwards(t, echoes)))
	for _, tc := range []struct{ in, want string }{
		{"127.0.0.1 127.0.0.1", "127.0.0.1"},
		{"127.0.0.1 localhost", "127.0.0.1 ::1"},
		{"localhost 127.0.0.1 ::1", "127.0.0.1 ::1"},
		{"localhost localhost", "127.0.0.1 ::1"},
		{"::1 0:0:0:0:0:0:0:1", "::1"},
		{"0.0.0.0 ::", "0.0.0.0 ::"},
		{"0.0.0.0", "0.0.0.0"},
		{"::", "::"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			l, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: strings.Fields(tc.in)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // it has no connections
			var got []string
			families := map[string]bool{}
			for _, addr := range l.Addrs() {
				ip := addr.(*net.TCPAddr).IP
				got = append(got, ip.String())
				families[map[bool]string{true: "127.0.0.1", false: "::1"}[ip.To4() != nil]] = true
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("the addresses are %s, want %s", got, tc.want)
			}
			for _, ip := range []string{"127.0.0.1", "::1"} {
				addr := net.JoinHostPort(ip, strconv.Itoa(l.Addrs()[0].(*net.TCPAddr).Port))
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
				if err == nil {
					conn.Close()
				}
				if (err == nil) != families[ip] {
					t.Errorf("a connection to %s = %v, want it accepted: %t", addr, err, families[ip])
				}
			}
		})
	}
}

func TestLocalConnectionEndsWithRemoteOne(t *testing.T) {
	s := testserver.New(t, forwards(t, func(s *socket, _ string) { s.send(0, "bye"); s.hangUp(1000, "") }))
	l := listen(t, forward(t, s), &pod.ListenOptions{OnError: func(err error) { t.Error(err) }})
	got, err := io.ReadAll(dialLocal(t, l.Addrs()[0]))
	if string(got) != "bye" || err != nil {
		t.Errorf("ReadAll() = %q, %v, want bye", got, err)
	}
}

func TestListenReleasesAddressesAfterError(t *testing.T) {
	f := forward(t, testserver.New(t, forwards(t, echoes)))
	used, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	port := uint16(used.Addr().(*net.TCPAddr).Port)
	if _, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: []string{"127.0.0.2", "127.0.0.1"}, LocalPort: port}); err == nil {
		t.Error("Listen() on an address in use = nil, want an error")
	}
	again, err := f.Listen(t.Context(), "80", &pod.ListenOptions{Addresses: []string{"127.0.0.2"}, LocalPort: port})
	if err != nil {
		t.Fatalf("Listen() on the other address = %v, want nil", err)
	}
	done := make(chan error, 1)
	go func() { done <- again.Run(context.Background()) }()
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run() of a closed listener = %v, want net.ErrClosed", err)
	}
}
