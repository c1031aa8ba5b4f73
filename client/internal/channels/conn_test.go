// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels_test

import (
	"errors"
	"io"
	"net"
	"os"
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

func TestMessagesComeOutOfTheirChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
		go p.answer(func(byte, string) {})
		p.send(binaryKind, "\x01one ")
		p.send(binaryKind, "\x02error")
		p.send(binaryKind, "\x01")
		p.send(binaryKind, "\x09nobody knows this one")
		p.send(binaryKind, "\x01two")
		p.send(closeKind, goodbye)
		for id, want := range map[byte]string{channels.Stdout: "one two", channels.Stderr: "error"} {
			if got, err := readAll(c, id); got != want || err != nil {
				t.Errorf("channel %d = %q, %v, want %q", id, got, err, want)
			}
		}
		if <-c.Done(); c.Err() != io.EOF {
			t.Errorf("Err() = %v, want EOF", c.Err())
		}
		if _, err := c.Write(channels.Stdin, []byte("late")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Write() after the end = %v, want a closed pipe", err)
		}
		c.Close()
	})
}

func TestAnEndThatIsNoneIsAnError(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   string
		want string
	}{
		{"a text message", string(frame(textKind, "hello")), "a text message"},
		{"a message without a channel", string(frame(binaryKind, "")), "names no channel"},
		{"a frame of no known kind", string(frame(5, "")), "opcode"},
		{"a part without a start", string(frame(0, "x")), "continuation"},
		{"a close that says what is wrong", string(frame(closeKind, "\x03\xf3out of memory")), "1011 out of memory"},
		{"nothing", "", "closed without a word"},
		{"half a message", string(frame(binaryKind, "\x01hello")[:5]), "EOF"},
		{"a frame of enormous size", "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff\x01x", "EOF"},
		{"a frame of negative size", "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "negative"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := connect(t, channels.V5, outputs(100, time.Minute)...)
				go p.answer(func(byte, string) {})
				go func() {
					_ = p.write([]byte(tc.in))
					p.conn.Close()
				}()
				_, err := readAll(c, channels.Stdout)
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Read() = %v, want a broken connection and %q", err, tc.want)
				}
				c.Close()
			})
		})
	}
}

func TestAFullBufferHoldsUpTheOthersUntilItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.answer(func(byte, string) {})
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
			t.Errorf("Stdout = %q, %v, want all that was sent", got, err)
		}
		if got := <-stderr; got != "error" {
			t.Errorf("Stderr = %q, want error", got)
		}
		c.Close()
	})
}

func TestAChannelThatNobodyReadsIsGivenUpAndTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.answer(func(byte, string) {})
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

func TestASlowReaderLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		go p.answer(func(byte, string) {})
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
			t.Errorf("%d bytes, want 160", n)
		}
		c.Close()
	})
}

// TestSilence promises that a peer that is gone is noticed in under 45 seconds, and one that answers never is.
func TestSilence(t *testing.T) {
	for _, last := range []time.Duration{0, time.Second, 9 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
			go p.answer(func(byte, string) {})
			time.Sleep(10*time.Minute + last)
			select {
			case <-c.Done():
				t.Fatal("a quiet peer that answers was given up: ", c.Err())
			default:
			}
			p.muted.Store(true)
			start := time.Now()
			_, err := readAll(c, channels.Stdout)
			if took := time.Since(start); took >= 45*time.Second || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "silent") {
				t.Errorf("the end came after %v with %v, want silence in less than 45 s", took, err)
			}
			c.Close()
		})
	}
}

// TestOnlyASilentPeerIsAsked promises that nothing is sent to a peer that speaks, since what arrives when it has just closed
// its socket makes it drop what is still on its way; that is, unless it may not have taken what it was sent.
func TestOnlyASilentPeerIsAsked(t *testing.T) {
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
					p.send(pongKind, payload) // before the test may end
					pings <- time.Now()
				}
			}
		}()
		talk := func(d time.Duration) (asked int) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				p.send(binaryKind, "\x01talk")
			}
			asked = len(pings)
			for range asked {
				<-pings
			}
			return asked
		}
		if n := talk(10 * time.Minute); n > 0 {
			t.Errorf("a peer that speaks was asked %d times", n)
		}
		if _, err := c.Write(channels.Stdin, []byte("input")); err != nil {
			t.Error(err)
		}
		if n := talk(10 * time.Minute); n != 1 {
			t.Errorf("a peer that was sent something was asked %d times, want once", n)
		}
		start := time.Now()
		if asked := <-pings; asked.Sub(start) > 16*time.Second {
			t.Errorf("a peer that is silent was asked after %v", asked.Sub(start))
		}
		c.Abort(net.ErrClosed)
	})
}

// TestAProgramMayLeaveItsInputForAnHour promises that a peer that takes nothing is not given up for that, that its pings
// are answered as soon as it reads on, and that nothing is lost.
func TestAProgramMayLeaveItsInputForAnHour(t *testing.T) {
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
		go p.send(pingKind, "are you there?")
		time.Sleep(time.Hour)
		var got strings.Builder
		ended, ponged := make(chan struct{}), false
		go p.answer(func(kind byte, payload string) {
			switch {
			case kind == pongKind && payload == "are you there?":
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
			t.Errorf("the ping was answered: %v; %d bytes of input, want %d", ponged, got.Len(), len(input))
		}
		c.Close()
	})
}

func TestWhatAConnectionIsAbortedForIsWhatItsUsersGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		defer p.conn.Close()
		cause := errors.New("enough")
		var users sync.WaitGroup
		users.Go(func() {
			if _, err := readAll(c, channels.Stdout); !errors.Is(err, cause) {
				t.Errorf("Read() = %v, want %v", err, cause)
			}
		})
		users.Go(func() {
			if _, err := c.Write(channels.Stdin, make([]byte, 1<<20)); !errors.Is(err, cause) {
				t.Errorf("Write() = %v, want %v", err, cause)
			}
		})
		synctest.Wait()
		c.Abort(cause)
		users.Wait()
		c.Abort(errors.New("other"))
		c.Close()
		if !errors.Is(c.Err(), cause) {
			t.Errorf("Err() = %v, want %v", c.Err(), cause)
		}
	})
}

func TestCloseTellsThePeerAndFreesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		told := make(chan string, 1)
		go p.answer(func(kind byte, payload string) {
			if kind == closeKind {
				told <- payload
				p.send(closeKind, goodbye)
			}
		})
		start := time.Now()
		c.Close()
		if got := <-told; got != goodbye || time.Since(start) > time.Second {
			t.Errorf("the peer was told %q after %v", got, time.Since(start))
		}
		if _, err := c.Write(channels.Stdin, []byte("late")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write() after Close = %v, want that it is closed", err)
		}
		if _, err := readAll(c, channels.Stdout); err == nil {
			t.Error("Read() after Close = EOF, want an error")
		}
		c.Close()
	})
}

func TestCloseDoesNotWaitForAPeerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V5, outputs(10, time.Minute)...)
		defer p.conn.Close()
		start := time.Now()
		c.Close()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("Close() took %v", took)
		}
	})
}

func TestDeadlinesEndWaiting(t *testing.T) {
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
		c.Outbox().SetWriteDeadline(start.Add(time.Second))
		if n, err := c.Write(channels.Stdin, make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
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
		in.SetReadDeadline(time.Now().Add(time.Hour)) // which replaces the minute
		start = time.Now()
		if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("Read() = %v after %v, want a deadline after an hour", err, time.Since(start))
		}
		c.Abort(net.ErrClosed)
	})
}

func TestOnlyVersion5EndsAChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, channels.V4)
		defer p.conn.Close()
		if err := c.End(channels.Stdin); !errors.Is(err, channels.ErrNoHalfClose) {
			t.Errorf("End() = %v, want ErrNoHalfClose", err)
		}
		c.Abort(net.ErrClosed)
	})
}

// FuzzConn promises that whatever a peer sends ends, and keeps no more than the buffers hold.
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
				t.Errorf("channel %d = %d bytes of %d, %v, after %v", id, len(got), len(data), err, c.Err())
			}
		}
		c.Close()
	})
}

// socket reads from a reader, and loses what is written.
type socket struct{ io.Reader }

func (socket) Write(p []byte) (int, error) { return len(p), nil }
func (socket) Close() error                { return nil }
