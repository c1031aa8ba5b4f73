// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"errors"
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
)

// kubelet is the server's end of a stream in a bubble.
type kubelet struct {
	*websocket.Conn
	gone context.Context //nolint:containedctx // ends with the test
}

func (k kubelet) send(channel byte, data string) {
	_ = k.WriteMessage(websocket.BinaryMessage, append([]byte{channel}, data...)) // the client may have gone
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

// inBubble runs a test in a bubble with the pods of a server that answers each request for a stream by play, or not at
// all.
func inBubble(t *testing.T, play func(kubelet), test func(t *testing.T, pods *API)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if play == nil {
				<-gone.Done()
				return
			}
			upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
			ws, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return // it has answered
			}
			hangUp := func() { _ = ws.Close() } // it may be closed
			defer hangUp()
			defer context.AfterFunc(gone, hangUp)()
			play(kubelet{ws, gone})
		})}
		go func() { _ = server.Serve(s) }()
		defer func() { _ = server.Close() }()
		defer synctest.Wait() // for what the server does last
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

// TestTheWordOfTheEndIsTheEnd promises that a process has ended when the server has said so, whatever else it does.
func TestTheWordOfTheEndIsTheEnd(t *testing.T) {
	const success = `{"status":"Success"}`
	for _, tc := range []struct {
		name  string
		in    func() io.Reader
		after func(kubelet)
		took  time.Duration
	}{
		{"the server closes the stream", endless, func(k kubelet) { k.hangUp() }, 0},
		{"the server breaks off", endless, func(k kubelet) { _ = k.Close() }, 0},
		{"the server leaves the stream as it is", silent, kubelet.drain, farewell},
		{"the server reads no more", endless, func(k kubelet) { <-k.gone.Done() }, farewell},
		{
			"the server has more to say", silent, func(k kubelet) {
				time.Sleep(farewell - time.Second)
				k.send(3, "that was all")
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
					t.Errorf("Run() = %v with the output %q, want the output and no error", err, out.String())
				}
				if took := time.Since(start); took != tc.took {
					t.Errorf("it took %v, want %v", took, tc.took)
				}
				p.Close()
			})
		})
	}
}

// TestAContextEndsAStreamWhoseOutputIsUnread promises that Wait returns when the context ends, although unread output
// keeps the server from closing the stream after the exit status has arrived.
func TestAContextEndsAStreamWhoseOutputIsUnread(t *testing.T) {
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
					t.Errorf("the output is %q, %v; want what has arrived, and the cause", out, err)
				}
			})
		})
	}
}

// endless returns an input without an end.
func endless() io.Reader { return zeros{} }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestAStreamIsCanceledAtAnyPoint promises that a context that ends is what all calls return, at once, and that nothing
// is left behind; the bubble sees to that.
func TestAStreamIsCanceledAtAnyPoint(t *testing.T) {
	cause := errors.New("enough")
	for _, tc := range []struct {
		name string
		play func(kubelet)
		in   func() io.Reader
		done bool // the outcome is known before
	}{
		{"while the server does not answer", nil, nil, false},
		{"while the process says nothing", kubelet.drain, nil, false},
		{"while the process talks", func(k kubelet) {
			for k.WriteMessage(websocket.BinaryMessage, []byte("\x01talk")) == nil {
				select {
				case <-time.After(time.Millisecond):
				case <-k.gone.Done():
				}
			}
		}, nil, false},
		{"while the process leaves its input", func(k kubelet) { <-k.gone.Done() }, endless, false},
		{"while the input is awaited", kubelet.drain, silent, false},
		{"while more output may come after the exit status", func(k kubelet) {
			k.send(3, `{"status":"Success"}`)
			<-k.gone.Done()
		}, endless, false},
		{"after the end", func(k kubelet) {
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
					t.Errorf("it ended with %v, want %v", err, cause)
				}
				if _, ok := errors.AsType[*client.OpError](err); err != nil && !ok {
					t.Errorf("it ended with %v, want an OpError", err)
				}
				if took := time.Since(start); took > 100*time.Millisecond && !tc.done {
					t.Errorf("it took %v", took)
				}
				cancel(nil)
			})
		})
	}
}

// silent returns an input on which nothing comes until its deadline.
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
