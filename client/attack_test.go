// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

const node = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`

// descriptors returns the number of open files and sockets of this process, on systems that report it.
func descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(entries)
}

// eventuallyDescriptors fails the test unless at most the given number stays open after the clients have closed idle
// connections. The servers run in this process and close their connections later, and HTTP/2 takes a moment to detect
// that a connection is idle.
func eventuallyDescriptors(t testing.TB, most int, clients ...*client.Client) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		if descriptors(t) <= most {
			return
		}
		select {
		case <-deadline:
			t.Errorf("%d descriptors are open, want at most %d", descriptors(t), most)
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// rawServer calls talk for the requests on each connection, and then closes the connection.
func rawServer(t testing.TB, talk func(conn net.Conn)) string {
	t.Helper()
	testserver.CheckGoroutines(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					talk(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return "http://" + listener.Addr().String()
}

// TestTruncatedResponseIsARetryableError checks that a response that ends at any byte is a retryable error, and never
// part of an object.
func TestTruncatedResponseIsARetryableError(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(node)) + "\r\n\r\n" + node
	chunked := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(node), node)
	var length atomic.Int64
	for _, whole := range []string{answer, chunked} {
		server := rawServer(t, func(conn net.Conn) { _, _ = io.WriteString(conn, whole[:length.Load()]) })
		c := testserver.NewClient(t, &client.Options{Config: newConfig(server), Retry: testserver.Once()})
		nodesAPI := client.Dynamic(c, nodes)
		before := descriptors(t)
		for n := range len(whole) {
			length.Store(int64(n))
			obj, err := nodesAPI.Get(t.Context(), "n1", nil)
			if err == nil || obj != nil {
				t.Fatalf("%d of %d bytes: Get = %v, %v; want an error", n, len(whole), obj, err)
			}
			// net/http can't distinguish the start of a header from an invalid header.
			if !core.IsRetryable(err) && !strings.Contains(err.Error(), "malformed") {
				t.Errorf("%d of %d bytes (%q): error = %v, want a retryable one", n, len(whole), whole[max(0, n-10):n], err)
			}
		}
		length.Store(int64(len(whole)))
		if obj, err := nodesAPI.Get(t.Context(), "n1", nil); err != nil || obj.GetName() != "n1" {
			t.Errorf("the whole response: Get = %v, %v", obj, err)
		}
		eventuallyDescriptors(t, before, c)
	}
}

// TestReadSurvivesACutConnection checks that a read succeeds although its connection is cut at any point, from the TLS
// handshake to the end of the response.
func TestReadSurvivesACutConnection(t *testing.T) {
	testserver.CheckGoroutines(t)
	s := &testserver.Server{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(node))
	}))}
	s.Server.Config.ErrorLog = discard()
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	var cut, total atomic.Int64
	address := relay(t, s.Listener.Addr().String(), func() int64 { return cut.Swap(-1) }, &total)
	cfg := s.Config()
	cfg.Server = "https://" + address
	var clients []*client.Client
	get := func() error {
		c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: &middleware.RetryOptions{InitialBackoff: time.Millisecond}})
		clients = append(clients, c)
		_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
		return err
	}
	before := descriptors(t)
	cut.Store(-1)
	if err := get(); err != nil {
		t.Fatal(err)
	}
	eventuallyDescriptors(t, before, clients...) // afterwards, the count of the relay is complete
	whole := total.Load()
	for n := int64(1); n < whole; n += 29 {
		cut.Store(n)
		if err := get(); err != nil {
			t.Errorf("cut after %d of %d bytes: %v", n, whole, err)
		}
	}
	eventuallyDescriptors(t, before, clients...)
}

// relay passes connections on to a target. For each connection, limit returns the number of bytes from the target after
// which the connection is reset, or a negative number for never.
func relay(t testing.TB, target string, limit func() int64, total *atomic.Int64) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
			if err != nil {
				near.Close()
				return
			}
			most := limit()
			running.Go(func() { // ends when one of the connections is closed below
				_, _ = copyPlainly(far, near)
				_ = far.(*net.TCPConn).CloseWrite()
			})
			running.Go(func() {
				defer far.Close()
				defer near.Close()
				var source io.Reader = far
				if most >= 0 {
					source = io.LimitReader(far, most)
				}
				n, _ := copyPlainly(near, source)
				total.Store(n)
				if most >= 0 {
					_ = near.(*net.TCPConn).SetLinger(0)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// copyPlainly copies without system calls that keep pipes open for reuse.
func copyPlainly(to io.Writer, from io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
}

// TestHostileResponsesAreBounded checks that no response takes unlimited time or memory.
func TestHostileResponsesAreBounded(t *testing.T) {
	forEver := func(conn net.Conn, line string) {
		for {
			if _, err := io.WriteString(conn, line); err != nil {
				return
			}
		}
	}
	for _, tc := range []struct {
		name string
		talk func(net.Conn)
		want string // empty: success
	}{
		{"headers without an end", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			forEver(conn, "X-Header: value\r\n")
		}, "server response headers exceeded 1048576 bytes; aborted"},
		{"one header without an end", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Header: ")
			forEver(conn, strings.Repeat("x", 1<<10))
		}, "server response headers exceeded 1048576 bytes; aborted"},
		{"a status without an end", func(conn net.Conn) { forEver(conn, "HTTP/1.1 200 OK") }, "server response headers exceeded 1048576 bytes; aborted"},
		{"early hints without an end", func(conn net.Conn) { forEver(conn, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n") }, "server response headers exceeded 1048576 bytes; aborted"},
		{"a hint", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(node), node)
		}, ""},
		{"trailers", func(conn net.Conn) {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n", len(node), node)
		}, ""},
		{"another protocol", func(conn net.Conn) { forEver(conn, "SSH-2.0-OpenSSH_9.9\r\n") }, "malformed HTTP"},
		{"a body without an end", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")
			forEver(conn, strings.Repeat(" ", 64<<10))
		}, "bytes"},
		{"an error without an end", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n\r\n")
			forEver(conn, strings.Repeat("no ", 1<<10))
		}, "forbidden: server said: no no no"},
		{"an upgrade that was not requested", func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: spdy\r\nConnection: Upgrade\r\n\r\n")
		}, "status 101"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := descriptors(t)
			c := testserver.NewClient(t, &client.Options{Config: newConfig(rawServer(t, tc.talk)), Retry: testserver.Once()})
			_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
			if err != nil && len(err.Error()) > 8<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			eventuallyDescriptors(t, before+1, c) // the server's listener
		})
	}
}

// TestEndlessListIsAnError checks that a list without an end is an error, with bounded memory.
func TestEndlessListIsAnError(t *testing.T) {
	server := rawServer(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"+`{"kind":"PodList","apiVersion":"v1","items":[{}`)
		for items := strings.Repeat(",{}", 10_000); ; {
			if _, err := io.WriteString(conn, items); err != nil {
				return
			}
		}
	})
	for _, tc := range []struct {
		name   string
		limits *wire.Limits
		most   uint64 // bytes of memory
	}{
		{"by default", nil, 2 << 30},
		{"by items", &wire.Limits{ListItems: 1000}, 64 << 20},
		{"by bytes", &wire.Limits{ListBytes: 10_000}, 64 << 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testserver.NewClient(t, &client.Options{Config: newConfig(server), Retry: testserver.Once(), Limits: tc.limits})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			list, err := client.Namespaced[corev1.Pod](c, "prod").List(t.Context(), nil)
			runtime.ReadMemStats(&after)
			if _, ok := errors.AsType[*wire.TooLargeError](err); !ok || list != nil {
				t.Errorf("List = %v, want a TooLargeError", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > tc.most {
				t.Errorf("List allocated %d MiB", used>>20)
			} else {
				t.Logf("List allocated %d MiB", used>>20)
			}
		})
	}
}

// TestLimitsOfHeadersAndErrors checks that the limits of headers and of the bodies of errors are options.
func TestLimitsOfHeadersAndErrors(t *testing.T) {
	header := rawServer(t, func(conn net.Conn) {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-Long: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			strings.Repeat("x", 20_000), len(node), node)
	})
	body := rawServer(t, func(conn net.Conn) {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 20000\r\n\r\n%s", strings.Repeat("x", 20_000))
	})
	get := func(server string, limits *wire.Limits) error {
		c := testserver.NewClient(t, &client.Options{Config: newConfig(server), Retry: testserver.Once(), Limits: limits})
		_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
		return err
	}
	if err := get(header, &wire.Limits{HeaderBytes: 10_000}); err == nil || !strings.Contains(err.Error(), "exceeded 10000 bytes") {
		t.Errorf("with HeaderBytes: %v, want an error about 10000 bytes", err)
	}
	if err := get(header, nil); err != nil {
		t.Errorf("without HeaderBytes: %v", err)
	}
	for limit, want := range map[int64]int{0: 20_000, 100: 100} {
		refused, ok := errors.AsType[*core.StatusError](get(body, &wire.Limits{ErrorBytes: limit}))
		if !ok || len(refused.Body) != want {
			t.Errorf("with ErrorBytes %d, the error keeps %d bytes, want %d", limit, len(refused.Body), want)
		}
	}
	_, err := client.New(t.Context(), &client.Options{
		Config: newConfig("https://cluster.test"), Transport: http.DefaultTransport, Limits: &wire.Limits{HeaderBytes: 1},
	})
	if err == nil || !strings.Contains(err.Error(), "HeaderBytes") {
		t.Errorf("HeaderBytes with a Transport = %v, want an error", err)
	}
	for _, o := range []*client.Options{{Transport: http.DefaultTransport, StreamBufferBytes: 1}, {StreamBufferBytes: -1}} {
		o.Config = newConfig("https://cluster.test")
		if _, err := client.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "StreamBufferBytes") {
			t.Errorf("StreamBufferBytes %d with the Transport %v = %v, want an error", o.StreamBufferBytes, o.Transport, err)
		}
	}
}

// TestSlowResponseEndsWithTheContext checks that a response that arrives slowly may take as long as the context allows.
// The response has no end, so that only the context ends the request.
func TestSlowResponseEndsWithTheContext(t *testing.T) {
	tooLong := errors.New("the time is over")
	server := rawServer(t, func(conn net.Conn) {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for ; err == nil; <-time.After(time.Millisecond) {
			_, err = io.WriteString(conn, "X: y\r\n")
		}
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, tooLong)
	defer cancel()
	if err := getNode(ctx, testserver.NewClient(t, &client.Options{Config: newConfig(server)})); !errors.Is(err, tooLong) {
		t.Errorf("error = %v, want the cause", err)
	}
}
