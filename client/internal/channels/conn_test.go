// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client/internal/channels"
)

func outputs(size int, stall time.Duration) []channels.Channel {
	return []channels.Channel{
		{ID: channels.Stdout, BufferBytes: size, StallTimeout: stall},
		{ID: channels.Stderr, BufferBytes: size, StallTimeout: stall},
	}
}

// readAll reads a channel to its end.
func readAll(c *channels.Conn, id byte) (string, error) {
	data, err := io.ReadAll(c.Incoming(id))
	return string(data), err
}

func TestMessagesReachTheirChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		go p.respond(func(byte, string) {})
		p.send(binaryKind, "\x01one ")
		p.send(binaryKind, "\x02error")
		p.send(binaryKind, "\x01")
		p.send(binaryKind, "\x09unknown channel")
		p.send(binaryKind, "\x01two")
		p.send(closeKind, goodbye)
		for id, want := range map[byte]string{channels.Stdout: "one two", channels.Stderr: "error"} {
			if got, err := readAll(c, id); got != want || err != nil {
				t.Errorf("channel %d = %q, %v, want %q", id, got, err, want)
			}
		}
		if synctest.Wait(); c.Err() != io.EOF {
			t.Errorf("Err() = %v, want EOF", c.Err())
		}
		if _, err := c.Write(channels.Stdin, []byte("late")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Write() after the end = %v, want %v", err, io.ErrClosedPipe)
		}
		c.Close()
	})
}

// TestInvalidDataEndsTheConnection checks that invalid data ends the connection with an error, even if the server reads
// nothing.
func TestInvalidDataEndsTheConnection(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   string
		want string
	}{
		{"a text message", string(frame(textKind, "hello")), "text message"},
		{"a message without a channel", string(frame(binaryKind, "")), "names no channel"},
		{"an unknown opcode", string(frame(5, "")), "opcode"},
		{"a continuation without a start", string(frame(0, "x")), "continuation"},
		{"a start within a message", "\x02\x02\x01a\x82\x02\x01b", "data before FIN"},
		{"a masked frame", "\x82\x82\x00\x00\x00\x00\x01x", "MASK"},
		{"a compressed frame", "\xc2\x02\x01x", "RSV1"},
		{"a long ping", "\x89\x7e\x00\x7e" + strings.Repeat("x", 126), "control"},
		{"a fragmented ping", "\x09\x01x", "control"},
		{"a close with an error", string(frame(closeKind, "\x03\xf3out of memory")), "1011: out of memory"},
		{"a close with an invalid status", string(frame(closeKind, "\x03\xee")), "bad close code 1006"},
		{"no data", "", "without a close frame"},
		{"half a header", "\x82", "without a close frame"},
		{"half a message", string(frame(binaryKind, "\x01hello")[:5]), "without a close frame"},
		{"a frame of enormous size", "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff\x01x", "without a close frame"},
		{"a frame of negative size", "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "limit"},
		{
			"a message of more than 63 bits",
			"\x02\x01\x01\x00\x7f\x7f\xff\xff\xff\xff\xff\xff\xff\x01x", "limit",
		},
	} {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the server reads: %v", tc.name, reads), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
					if reads {
						go p.respond(func(byte, string) {})
					}
					start := time.Now()
					go func() {
						_ = p.write([]byte(tc.in))
						if strings.Contains(tc.want, "without") {
							p.conn.Close()
						}
					}()
					_, err := readAll(c, channels.Stdout)
					if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), tc.want) {
						t.Errorf("Read() = %v, want a broken connection and %q", err, tc.want)
					}
					if took := time.Since(start); took > 2*time.Second {
						t.Errorf("the connection ended after %v, want at most 2s", took)
					}
					c.Close()
					p.conn.Close()
				})
			})
		}
	}
}

// TestEOFWithoutCloseFrameIsAnError checks that the channel ends with an error if the server closes the socket without
// a close frame, even if one Read returns the last data with io.EOF.
func TestEOFWithoutCloseFrameIsAnError(t *testing.T) {
	output := strings.Repeat("x", 8<<10)
	in := iotest.DataErrReader(strings.NewReader(string(frame(binaryKind, "\x01"+output))))
	c := open(t, socket{in}, channels.V5, outputs(1<<20, time.Minute)...)
	got, err := readAll(c, channels.Stdout)
	if got != output || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "without a close frame") {
		t.Errorf("Stdout = %d bytes, %v; want %d and a broken connection", len(got), err, len(output))
	}
	c.Close()
}

// TestFragmentsAreJoined checks that a message may have any number of frames, with pings between them.
func TestFragmentsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		pongs := make(chan string, 1)
		go p.respond(func(kind byte, payload string) {
			if kind == pongKind {
				pongs <- payload
			}
		})
		for _, part := range []string{
			"\x02\x03\x01he", "\x00\x00", "\x89\x05there", "\x00\x7f\x00\x00\x00\x00\x00\x00\x00\x02ll", "\x80\x01o",
		} {
			if err := p.write([]byte(part)); err != nil {
				t.Error(err)
			}
		}
		if got := <-pongs; got != "there" {
			t.Errorf("pong = %q, want there", got)
		}
		p.send(closeKind, goodbye)
		if got, err := readAll(c, channels.Stdout); got != "hello" || err != nil {
			t.Errorf("Stdout = %q, %v, want hello", got, err)
		}
		c.Close()
	})
}

// TestUnreadPongsDoNotBlockOutput checks that a server that sends many pings and reads nothing still sends output, and
// that it gets a pong to its last ping but not to all of them.
func TestUnreadPongsDoNotBlockOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		for i := range 100_000 {
			p.send(pingKind, strconv.Itoa(i))
		}
		p.send(binaryKind, "\x01output")
		got := make([]byte, 6)
		if _, err := io.ReadFull(c.Incoming(channels.Stdout), got); string(got) != "output" || err != nil {
			t.Errorf("Stdout = %q, %v, want output", got, err)
		}
		pongs, last := 0, ""
		go p.respond(func(kind byte, payload string) {
			if kind == pongKind {
				pongs, last = pongs+1, payload
			}
		})
		synctest.Wait()
		if pongs > 2 || last != "99999" {
			t.Errorf("got %d pongs, the last one %q; want at most 2, the last one 99999", pongs, last)
		}
		c.Abort(net.ErrClosed)
	})
}

// TestBlockedWriteDoesNotDelayEnd checks that the connection ends without delay while a Write is blocked, because the
// server reads nothing.
func TestBlockedWriteDoesNotDelayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		defer p.conn.Close()
		var writing sync.WaitGroup
		writing.Go(func() {
			if _, err := c.Write(channels.Stdin, make([]byte, 1<<20)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("Write() = %v, want a closed pipe", err)
			}
		})
		synctest.Wait()
		start := time.Now()
		p.send(binaryKind, "\x01output")
		p.send(closeKind, goodbye)
		if got, err := readAll(c, channels.Stdout); got != "output" || err != nil || time.Since(start) > time.Second {
			t.Errorf("Stdout = %q, %v after %v, want output within a second", got, err, time.Since(start))
		}
		writing.Wait()
		c.Close()
	})
}

// TestSmallInputsShareMessage checks that small inputs share a message in order while the server reads nothing, and
// that other messages stay separate.
func TestSmallInputsShareMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		go func() {
			for _, data := range []string{"first", "a", "b", strings.Repeat("c", 32<<10-1)} {
				if _, err := c.Write(channels.Stdin, []byte(data)); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			for range 2 {
				if _, err := c.Write(channels.Resize, []byte("{}")); err != nil {
					t.Error(err)
				}
			}
			if err := c.End(channels.Stdin); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		want := []string{"\x00first", "\x00ab" + strings.Repeat("c", 32<<10-2), "\x00c", "\x04{}", "\x04{}", "\xff\x00"}
		for _, want := range want {
			if kind, got := p.receive(); kind != binaryKind || got != want {
				t.Errorf("the server received %d bytes %.9q, want %d bytes %.9q", len(got), got, len(want), want)
			}
		}
		c.Abort(net.ErrClosed)
	})
}

func TestFullBufferBlocksOtherChannelsUntilRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.respond(func(byte, string) {})
		go func() {
			p.send(binaryKind, "\x01"+strings.Repeat("a", 8))
			p.send(binaryKind, "\x01"+strings.Repeat("b", 8))
			p.send(binaryKind, "\x02error")
			p.send(closeKind, goodbye)
		}()
		stderr := make(chan string)
		go func() {
			got, _ := readAll(c, channels.Stderr)
			stderr <- got
		}()
		time.Sleep(50 * time.Second)
		select {
		case got := <-stderr:
			t.Fatalf("Stderr = %q while Stdout is full", got)
		default:
		}
		if got, err := readAll(c, channels.Stdout); got != "aaaaaaaabbbbbbbb" || err != nil {
			t.Errorf("Stdout = %q, %v, want all sent data", got, err)
		}
		if got := <-stderr; got != "error" {
			t.Errorf("Stderr = %q, want error", got)
		}
		c.Close()
	})
}

func TestStalledChannelEndsAndOthersContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.respond(func(byte, string) {})
		start := time.Now()
		go func() {
			for range 100 {
				p.send(binaryKind, "\x01"+strings.Repeat("a", 8))
			}
			p.send(binaryKind, "\x02error")
			p.send(closeKind, goodbye)
		}()
		if got, err := readAll(c, channels.Stderr); got != "error" || err != nil || time.Since(start) != time.Minute {
			t.Errorf("Stderr = %q, %v after %v, want error after a minute", got, err, time.Since(start))
		}
		if got, err := readAll(c, channels.Stdout); got != "aaaaaaaa" || !errors.Is(err, channels.ErrStalled) {
			t.Errorf("Stdout = %q, %v, want the start and ErrStalled", got, err)
		}
		c.Close()
	})
}

func TestSlowReaderLosesNoData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.respond(func(byte, string) {})
		go func() {
			for range 20 {
				p.send(binaryKind, "\x01"+strings.Repeat("a", 8))
			}
			p.send(closeKind, goodbye)
		}()
		n := 0
		for one := make([]byte, 1); ; time.Sleep(50 * time.Second) {
			if _, err := c.Incoming(channels.Stdout).Read(one); err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				break
			}
			n++
		}
		if n != 160 {
			t.Errorf("read %d bytes, want 160", n)
		}
		c.Close()
	})
}

// TestOnlyPeerWithoutPongsIsDead checks that a dead peer is detected within 45 seconds, and that a silent peer that
// responds to pings is not considered dead.
func TestOnlyPeerWithoutPongsIsDead(t *testing.T) {
	for _, last := range []time.Duration{0, time.Second, 9 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
			go p.respond(func(byte, string) {})
			time.Sleep(10*time.Minute + last)
			if err := c.Err(); err != nil {
				t.Fatalf("the connection to a peer that responds to pings ended with %v", err)
			}
			p.muted.Store(true)
			start := time.Now()
			_, err := readAll(c, channels.Stdout)
			took := time.Since(start)
			if took >= 45*time.Second || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "silent") {
				t.Errorf("Read() = %v after %v, want a silent peer in less than 45s", err, took)
			}
			c.Close()
		})
	}
}

// TestOnlySilentPeerGetsPings checks that a peer that sends data gets no pings, unless it may not have received all
// input. A ping that arrives when the peer has just closed its socket makes it drop the data that is still in transit.
func TestOnlySilentPeerGetsPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(1<<20, time.Minute)...)
		pings := make(chan time.Time, 100)
		go func() {
			for {
				kind, payload := p.receive()
				switch kind {
				case 0:
					return
				case pingKind:
					p.send(pongKind, payload) // before the test can end
					pings <- time.Now()
				}
			}
		}()
		sendFor := func(d time.Duration) (pinged int) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				p.send(binaryKind, "\x01output")
			}
			pinged = len(pings)
			for range pinged {
				<-pings
			}
			return pinged
		}
		if n := sendFor(10 * time.Minute); n > 0 {
			t.Errorf("a peer that sends data got %d pings, want none", n)
		}
		if _, err := c.Write(channels.Stdin, []byte("input")); err != nil {
			t.Error(err)
		}
		if n := sendFor(10 * time.Minute); n != 1 {
			t.Errorf("a peer that received input got %d pings, want 1", n)
		}
		start := time.Now()
		if pinged := <-pings; pinged.Sub(start) > 16*time.Second {
			t.Errorf("a silent peer got a ping after %v, want at most 16s", pinged.Sub(start))
		}
		c.Abort(net.ErrClosed)
	})
}

// TestPeerMayLeaveInputUnreadForAnHour checks that a peer that reads nothing for an hour is not considered dead, that
// its ping gets a pong once it reads, and that no input is lost.
func TestPeerMayLeaveInputUnreadForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		input := strings.Repeat("0123456789abcdef", 64<<10) // 1 MiB
		var writing sync.WaitGroup
		writing.Go(func() {
			if n, err := c.Write(channels.Stdin, []byte(input)); n != len(input) || err != nil {
				t.Errorf("Write() = %d, %v, want all", n, err)
			}
			if err := c.End(channels.Stdin); err != nil {
				t.Error(err)
			}
		})
		go p.send(pingKind, "ping")
		time.Sleep(time.Hour)
		var got strings.Builder
		ended, ponged := make(chan struct{}), false
		go p.respond(func(kind byte, payload string) {
			switch {
			case kind == pongKind && payload == "ping":
				ponged = true
			case payload == "\xff\x00":
				close(ended)
			case kind == binaryKind:
				got.WriteString(payload[1:])
			}
		})
		<-ended
		writing.Wait()
		if !ponged || got.String() != input {
			t.Errorf("pong received: %v, %d bytes of input; want true, %d", ponged, got.Len(), len(input))
		}
		c.Close()
	})
}

func TestAbortErrorReachesAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		defer p.conn.Close()
		cause := errors.New("enough")
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := readAll(c, channels.Stdout); !errors.Is(err, cause) {
				t.Errorf("Read() = %v, want %v", err, cause)
			}
		})
		callers.Go(func() {
			if _, err := c.Write(channels.Stdin, make([]byte, 1<<20)); !errors.Is(err, cause) {
				t.Errorf("Write() = %v, want %v", err, cause)
			}
		})
		synctest.Wait()
		c.Abort(cause)
		callers.Wait()
		c.Abort(errors.New("other"))
		c.Close()
		if !errors.Is(c.Err(), cause) {
			t.Errorf("Err() = %v, want %v", c.Err(), cause)
		}
	})
}

func TestCloseSendsCloseFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		closed := make(chan string, 1)
		go p.respond(func(kind byte, payload string) {
			if kind == closeKind {
				closed <- payload
				p.send(closeKind, goodbye)
			}
		})
		start := time.Now()
		c.Close()
		if got := <-closed; got != goodbye || time.Since(start) > time.Second {
			t.Errorf("the peer received %q after %v, want a normal close within a second", got, time.Since(start))
		}
		if _, err := c.Write(channels.Stdin, []byte("late")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write() after Close = %v, want %v", err, net.ErrClosed)
		}
		if _, err := readAll(c, channels.Stdout); err == nil {
			t.Error("Read() after Close = EOF, want an error")
		}
		c.Close()
	})
}

func TestCloseSendsWrittenData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		got := make(chan string, 2)
		go func() {
			time.Sleep(time.Second)
			p.respond(func(kind byte, payload string) {
				got <- payload
				if kind == closeKind {
					p.send(closeKind, goodbye)
				}
			})
		}()
		if _, err := c.Write(channels.Stdin, []byte("late data")); err != nil {
			t.Error(err)
		}
		c.Close()
		if data, end := <-got, <-got; data != "\x00late data" || end != goodbye {
			t.Errorf("the server received %q and %q, want the data and a close frame", data, end)
		}
	})
}

// TestConnectionWorksAfterWriteDeadline checks that a connection can be used after a write deadline, and that the
// server has received exactly the bytes that Write has reported.
func TestConnectionWorksAfterWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V4, outputs(10, time.Minute)...)
		data := []byte(strings.Repeat("0123456789abcdef", 16<<10))
		c.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := c.Write(channels.Stdin, data)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write() = %d, %v, want %v", n, err, os.ErrDeadlineExceeded)
		}
		c.SetWriteDeadline(time.Time{})
		got := make([]byte, 0, len(data))
		complete := make(chan struct{})
		go p.respond(func(_ byte, payload string) {
			if got = append(got, payload[1:]...); len(got) == len(data) {
				close(complete)
			}
		})
		if _, err := c.Write(channels.Stdin, data[n:]); err != nil {
			t.Error(err)
		}
		<-complete
		if !bytes.Equal(got, data) {
			t.Error("the server received other data than was written")
		}
		c.Abort(net.ErrClosed)
	})
}

func TestInvalidHandshakeIsAnError(t *testing.T) {
	refusal := errors.New("forbidden")
	for _, tc := range []struct {
		name string
		edit func(http.Header) error
		want string
	}{
		{"refused", func(http.Header) error { return refusal }, "forbidden"},
		{"no header", func(h http.Header) error { clear(h); return nil }, `Upgrade is ""`},
		{"another key", func(h http.Header) error { h.Set("Sec-WebSocket-Accept", "x"); return nil }, `Accept is "x"`},
		{"another upgrade", func(h http.Header) error { h.Set("Upgrade", "SPDY/3.1"); return nil }, `Upgrade is "SPDY/3.1"`},
		{"no protocol", func(h http.Header) error { h.Del("Sec-WebSocket-Protocol"); return nil }, `protocol ""`},
		{"another protocol", func(h http.Header) error { h.Set("Sec-WebSocket-Protocol", "v9"); return nil }, `"v9"`},
		{"compression", func(h http.Header) error {
			h.Set("Sec-WebSocket-Extensions", "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
			return nil
		}, "none was offered"},
		{"another compression", func(h http.Header) error {
			h.Set("Sec-WebSocket-Extensions", "permessage-deflate")
			return nil
		}, "invalid"},
		{"a header that contains a line break", func(h http.Header) error {
			h.Set("Sec-WebSocket-Protocol", "v9\r\n\r\nSec-WebSocket-Protocol: v5.channel.k8s.io")
			return nil
		}, "protocol \"v9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			_, err := channels.Dial([]string{channels.V5, channels.V4}, nil,
				func(h http.Header) (io.ReadWriteCloser, http.Header, error) {
					response := accepted(h, channels.V5)
					return near, response, tc.edit(response)
				}, unchanged)
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.want == "forbidden" && err != refusal {
				t.Fatalf("Dial() = %v, want %q", err, tc.want)
			}
			if err == refusal {
				return // there is no connection
			}
			_ = far.SetReadDeadline(time.Now().Add(time.Second)) // never fails
			if _, err := far.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("Read() = %v, want %v from a closed connection", err, io.EOF)
			}
		})
	}
}

func TestCloseDoesNotWaitForSilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		defer p.conn.Close()
		start := time.Now()
		c.Close()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("Close() took %v, want at most 10s", took)
		}
	})
}

func TestDeadlinesInterruptReadAndWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, -1)...)
		defer p.conn.Close()
		in := c.Incoming(channels.Stdout)
		for _, d := range []time.Duration{time.Second, 0, -time.Second} {
			start := time.Now()
			in.SetReadDeadline(start.Add(d))
			_, err := in.Read(make([]byte, 1))
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != max(d, 0) {
				t.Errorf("Read() = %v after %v, want a deadline after %v", err, time.Since(start), d)
			}
		}
		start := time.Now()
		c.SetWriteDeadline(start.Add(time.Second))
		n, err := c.Write(channels.Stdin, make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Write() = %d, %v after %v, want a deadline after a second", n, err, time.Since(start))
		}
		in.SetReadDeadline(time.Time{})
		got := make(chan error, 1)
		go func() {
			_, err := in.Read(make([]byte, 1))
			got <- err
		}()
		synctest.Wait()
		in.SetReadDeadline(time.Now().Add(time.Minute))
		in.SetReadDeadline(time.Now().Add(time.Hour)) // replaces the first deadline
		start = time.Now()
		if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("Read() = %v after %v, want a deadline after an hour", err, time.Since(start))
		}
		c.Abort(net.ErrClosed)
	})
}

func TestOnlyVersion5EndsChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V4)
		defer p.conn.Close()
		if err := c.End(channels.Stdin); !errors.Is(err, channels.ErrNoHalfClose) {
			t.Errorf("End() = %v, want ErrNoHalfClose", err)
		}
		c.Abort(net.ErrClosed)
	})
}

// FuzzConn checks that a connection ends after any data, and that its channels do not yield more bytes than were sent.
func FuzzConn(f *testing.F) {
	f.Add([]byte("\x82\x06\x01hello\x82\x03\x02no\x88\x02\x03\xe8"))
	f.Add([]byte("\x02\x03\x01he\x80\x03llo"))
	f.Add([]byte("\x89\x01x\x8a\x01x\x81\x01x"))
	f.Add([]byte("\x82\x7e\xff\xff\x01"))
	f.Add([]byte("\xc2\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := iotest.OneByteReader(strings.NewReader(string(data)))
		c := open(t, socket{in}, channels.V5, outputs(16, 0)...)
		<-c.Done()
		for _, id := range []byte{channels.Stdout, channels.Stderr} {
			got, err := readAll(c, id)
			if len(got) > len(data) || c.Err() == nil || err == nil && c.Err() != io.EOF {
				t.Errorf("channel %d = %d bytes of %d, %v; Err() = %v", id, len(got), len(data), err, c.Err())
			}
		}
		c.Close()
	})
}

// socket reads from a reader and drops written data.
type socket struct{ io.Reader }

func (socket) Write(p []byte) (int, error) { return len(p), nil }
func (socket) Close() error                { return nil }
