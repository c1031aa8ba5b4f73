// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/core/request"
)

// kubelet is the server side of a stream in a bubble.
type kubelet struct {
	*websocket.Conn
	ended context.Context //nolint:containedctx // ends with the test
}

func (k kubelet) send(channel byte, data string) {
	// The client may have closed the stream.
	_ = k.WriteMessage(websocket.BinaryMessage, append([]byte{channel}, data...))
}

// drain reads until the stream ends.
func (k kubelet) drain() {
	for {
		if _, _, err := k.ReadMessage(); err != nil {
			return
		}
	}
}

// hangUp closes the stream normally.
func (k kubelet) hangUp() {
	_ = k.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	k.drain()
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (s *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *pipes) Close() error   { return nil }
func (s *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (s *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.conns <- far
	return near, nil
}

// inBubble runs a test in a bubble with the pods of a server. The server passes each stream to play, or never responds
// if play is nil.
func inBubble(t *testing.T, play func(kubelet), test func(t *testing.T, pods *API)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if play == nil {
				<-ended.Done()
				return
			}
			upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
			ws, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return // Upgrade has sent the response
			}
			hangUp := func() { _ = ws.Close() } // it may be closed already
			defer hangUp()
			defer context.AfterFunc(ended, hangUp)()
			play(kubelet{ws, ended})
		})}
		go func() { _ = server.Serve(s) }()
		defer func() { _ = server.Close() }()
		defer synctest.Wait() // the server ends first
		defer close(s.done)
		rt := &http.Transport{DialContext: s.dial}
		defer rt.CloseIdleConnections()
		c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://cluster.test"}, Transport: rt})
		if err != nil {
			t.Fatal(err)
		}
		test(t, In(c, "prod"))
	})
}

// TestProcessEndsWithTheStatusOfTheServer checks that a process ends when the server has sent its exit status, even if
// the server keeps the stream open.
func TestProcessEndsWithTheStatusOfTheServer(t *testing.T) {
	const success = `{"status":"Success"}`
	for _, tc := range []struct {
		name  string
		in    func() io.Reader
		after func(kubelet)
		took  time.Duration
	}{
		{"the server closes the stream", endless, func(k kubelet) { k.hangUp() }, 0},
		{"the server cuts the connection", endless, func(k kubelet) { _ = k.Close() }, 0},
		{"the server keeps the stream open", silent, kubelet.drain, farewell},
		{"the server stops reading", endless, func(k kubelet) { <-k.ended.Done() }, farewell},
		{
			"the server sends more data", silent, func(k kubelet) {
				time.Sleep(farewell - time.Second)
				k.send(3, "more data")
				k.drain()
			}, 2*farewell - time.Second,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(k kubelet) {
				k.send(1, "output")
				k.send(3, success)
				tc.after(k)
			}, func(t *testing.T, pods *API) {
				start := time.Now()
				p, err := pods.Exec(t.Context(), "web", &ExecOptions{Command: []string{"head"}, Stdin: true})
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				if err := p.Run(tc.in(), &out, nil); err != nil || out.String() != "output" {
					t.Errorf("Run() = %v with output %q, want nil with \"output\"", err, out.String())
				}
				if took := time.Since(start); took != tc.took {
					t.Errorf("Run() took %v, want %v", took, tc.took)
				}
				p.Close()
			})
		})
	}
}

// TestCloseSendsInputToASilentServer checks that Close sends the written input and a close frame if the server reads
// again within a few seconds, even if it has sent nothing for longer.
func TestCloseSendsInputToASilentServer(t *testing.T) {
	var received chan string
	inBubble(t, func(k kubelet) {
		time.Sleep(farewell + 2*time.Second)
		_, message, err := k.ReadMessage()
		received <- fmt.Sprintf("%q, %v", message, err)
		_, _, err = k.ReadMessage()
		received <- fmt.Sprint(websocket.IsCloseError(err, websocket.CloseNormalClosure))
	}, func(t *testing.T, pods *API) {
		received = make(chan string, 2) // belongs to the bubble
		p, err := pods.Exec(t.Context(), "web", &ExecOptions{Command: []string{"cat"}, Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(farewell + time.Second)
		if _, err := p.Stdin.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		p.Close()
		if message, closed := <-received, <-received; message != `"\x00x", <nil>` || closed != "true" {
			t.Errorf("the server received %s, and a close frame: %s; want the input and a close frame", message, closed)
		}
	})
}

// TestContextEndsStreamWithUnreadOutput checks that Wait returns when the context ends, although unread output keeps
// the server from closing the stream after the exit status has arrived.
func TestContextEndsStreamWithUnreadOutput(t *testing.T) {
	cause := errors.New("enough")
	for _, tc := range []struct {
		name, status string
		code         int
	}{
		{"success", `{"status":"Success"}`, 0},
		{"a failure", `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play := func(k kubelet) {
				k.send(3, tc.status)
				for range 4 {
					k.send(1, "output")
				}
				k.drain()
			}
			inBubble(t, play, func(t *testing.T, pods *API) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(time.Minute, func() { cancel(cause) })
				p, err := pods.Exec(ctx, "web", &ExecOptions{Command: []string{"sh"}, BufferBytes: 1, StallTimeout: -1})
				if err != nil {
					t.Fatal(err)
				}
				exit := &ExitError{}
				if err := p.Wait(); errors.As(err, &exit) != (tc.code != 0) || exit.Code != tc.code {
					t.Errorf("Wait() = %v, want exit status %d", err, tc.code)
				}
				if took := time.Since(start); took != time.Minute {
					t.Errorf("Wait() took %v, want a minute", took)
				}
				if out, err := io.ReadAll(p.Stdout); string(out) != "output" || !errors.Is(err, cause) {
					t.Errorf("ReadAll(Stdout) = %q, %v, want \"output\", %v", out, err, cause)
				}
			})
		})
	}
}

// TestContextEndsAtTheSameTimeAsProcess checks that a context that ends when the exit status has just arrived is an
// error of Run only if it also ends the stream: then the output may be incomplete.
func TestContextEndsAtTheSameTimeAsProcess(t *testing.T) {
	cause := errors.New("enough")
	for _, tc := range []struct {
		name  string
		after func(kubelet)
		want  error
	}{
		{"output may follow", kubelet.drain, cause},
		{"the server has closed the stream", kubelet.hangUp, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 10 { // conclude waits for several events at once, and Go chooses one at random
				inBubble(t, func(k kubelet) {
					k.send(1, "output")
					k.send(3, `{"status":"Success"}`)
					tc.after(k)
				}, func(t *testing.T, pods *API) {
					conn, redact, err := pods.connect(t.Context(), "exec", "web", streams{stdout: true}, execTrue)
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // everything has arrived
					wrap := func(err error) error { return err }
					p := &Process{conn: conn, redact: redact, wrap: wrap, done: make(chan struct{})}
					p.Stdout = &output{conn.Incoming(channels.Stdout), wrap}
					ctx, cancel := context.WithCancelCause(t.Context())
					cancel(cause)
					p.conclude(ctx)
					if err := p.Run(nil, nil, nil); err != tc.want {
						t.Errorf("Run() = %v, want %v", err, tc.want)
					}
					if err := p.Wait(); err != nil {
						t.Errorf("Wait() = %v, want nil", err)
					}
				})
			}
		})
	}
}

// execTrue returns a request that runs a command.
func execTrue(t request.Target) (*request.Request, error) {
	return request.Exec(t, &request.ExecOptions{Command: []string{"true"}, Stdout: true})
}

// endless returns an input that never ends.
func endless() io.Reader { return zeros{} }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestCancelEndsStreamInEveryState checks that all calls return the cause of a canceled context at once. The bubble
// checks that no goroutine is left.
func TestCancelEndsStreamInEveryState(t *testing.T) {
	cause := errors.New("enough")
	for _, tc := range []struct {
		name string
		play func(kubelet)
		in   func() io.Reader
		done bool // the process ends before the context
	}{
		{"while the server does not respond", nil, nil, false},
		{"while the process sends nothing", kubelet.drain, nil, false},
		{"while the process sends output", func(k kubelet) {
			for k.WriteMessage(websocket.BinaryMessage, []byte("\x01output")) == nil {
				select {
				case <-time.After(time.Millisecond):
				case <-k.ended.Done():
				}
			}
		}, nil, false},
		{"while the process does not read its input", func(k kubelet) { <-k.ended.Done() }, endless, false},
		{"while the input is blocked", kubelet.drain, silent, false},
		{"while more output may come after the exit status", func(k kubelet) {
			k.send(3, `{"status":"Success"}`)
			<-k.ended.Done()
		}, endless, false},
		{"after the process has ended", func(k kubelet) {
			k.send(3, `{"status":"Success"}`)
			k.hangUp()
		}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, tc.play, func(t *testing.T, pods *API) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
				p, err := pods.Exec(ctx, "web", &ExecOptions{Command: []string{"sh"}, Stdin: tc.in != nil})
				if err == nil {
					var in io.Reader
					if tc.in != nil {
						in = tc.in()
					}
					err = p.Run(in, io.Discard, io.Discard)
				}
				if tc.done != (err == nil) || err != nil && !errors.Is(err, cause) {
					t.Errorf("Run() = %v, want %v", err, cause)
				}
				if _, ok := errors.AsType[*client.OpError](err); err != nil && !ok {
					t.Errorf("Run() = %v, want an OpError", err)
				}
				if took := time.Since(start); took > 100*time.Millisecond && !tc.done {
					t.Errorf("Run() took %v, want 100ms", took)
				}
				cancel(nil)
			})
		})
	}
}

// silent returns an input that blocks until its deadline.
func silent() io.Reader { return make(silentInput) }

type silentInput chan struct{}

func (s silentInput) Read([]byte) (int, error) {
	<-s
	return 0, os.ErrDeadlineExceeded
}

func (s silentInput) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		close(s)
	}
	return nil
}

// closing is an input whose Close fails.
type closing struct {
	io.Writer
	err error
}

func (c closing) Close() error { return c.err }

// TestTheEndOfAnInputThatNobodyReadsIsNoError checks that a process that has ended before the end of its input has its
// own outcome, and that a server that can't transmit the end is reported.
func TestTheEndOfAnInputThatNobodyReadsIsNoError(t *testing.T) {
	ended := fmt.Errorf("write: %w", io.ErrClosedPipe)
	for _, tc := range []struct{ err, want error }{{nil, nil}, {ended, nil}, {ErrNoHalfClose, ErrNoHalfClose}} {
		if err := feedInput(closing{io.Discard, tc.err}, strings.NewReader("input")); !errors.Is(err, tc.want) {
			t.Errorf("feedInput() = %v if Close returns %v, want %v", err, tc.err, tc.want)
		}
	}
}
