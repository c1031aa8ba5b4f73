// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake requires it
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
)

// frames returns a handler that accepts a WebSocket without a library, so that a benchmark measures the client, and
// passes the connection to play.
func frames(b *testing.B, play func(*bufio.ReadWriter)) http.HandlerFunc {
	b.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		//nolint:gosec // the WebSocket handshake requires it
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Protocol: %s\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			strings.SplitN(r.Header.Get("Sec-WebSocket-Protocol"), ",", 2)[0], base64.StdEncoding.EncodeToString(sum[:]))
		_ = rw.Flush()
		play(rw)
	}
}

// readFrame reads a frame and returns its opcode and the length of its payload.
func readFrame(in *bufio.Reader) (opcode byte, length int, err error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(in, head[:2]); err != nil {
		return 0, 0, err
	}
	opcode, length = head[0]&0xf, int(head[1]&0x7f)
	switch length {
	case 126:
		_, err = io.ReadFull(in, head[:2])
		length = int(binary.BigEndian.Uint16(head))
	case 127:
		_, err = io.ReadFull(in, head)
		length = int(binary.BigEndian.Uint64(head))
	}
	if err == nil {
		_, err = in.Discard(4 + length)
	}
	return opcode, length, err
}

// finish reports success, closes the WebSocket and reads until the client closes it, too.
func finish(rw *bufio.ReadWriter) {
	fmt.Fprintf(rw, "\x82%c\x03%s\x88\x02\x03\xe8", len(success)+1, success)
	_ = rw.Flush()
	for {
		if _, _, err := readFrame(rw.Reader); err != nil {
			return
		}
	}
}

func BenchmarkStdout(b *testing.B) {
	for _, size := range []int{32 << 10, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			frame := append([]byte{0x82, 0x7e, byte((size + 1) >> 8), byte(size + 1), 1}, make([]byte, size)...)
			s := testserver.New(b, frames(b, func(rw *bufio.ReadWriter) {
				for range b.N {
					_, _ = rw.Write(frame)
				}
				finish(rw)
			}))
			p, err := podsOf(b, s).Exec(b.Context(), "web", &pod.ExecOptions{Command: []string{"cat"}})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			if err := p.Run(nil, io.Discard, io.Discard); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkStdin(b *testing.B) {
	for _, size := range []int{32 << 10, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := testserver.New(b, frames(b, func(rw *bufio.ReadWriter) {
				for got := 0; got < b.N*size; {
					opcode, n, err := readFrame(rw.Reader)
					if err != nil {
						b.Error(err)
						return
					}
					if opcode == 2 || opcode == 0 {
						got += n
						if opcode == 2 {
							got--
						}
					}
				}
				finish(rw)
			}))
			p, err := podsOf(b, s).Exec(b.Context(), "web", &pod.ExecOptions{Command: []string{"cat"}, Stdin: true})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			data := make([]byte, size)
			for range b.N {
				if _, err := p.Stdin.Write(data); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkEcho measures the time of a key stroke, which is an input of one byte that the process sends back.
func BenchmarkEcho(b *testing.B) {
	s := testserver.New(b, frames(b, func(rw *bufio.ReadWriter) {
		for n := 0; n < b.N; {
			opcode, _, err := readFrame(rw.Reader)
			if err != nil {
				b.Error(err)
				return
			}
			if opcode == 2 {
				n++
				_, _ = rw.WriteString("\x82\x02\x01x")
				_ = rw.Flush()
			}
		}
		finish(rw)
	}))
	p, err := podsOf(b, s).Exec(b.Context(), "web", &pod.ExecOptions{Command: []string{"cat"}, Stdin: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	one := make([]byte, 1)
	for range b.N {
		if _, err := p.Stdin.Write(one); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(p.Stdout, one); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Wait(); err != nil {
		b.Fatal(err)
	}
}
