// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// member returns a gzip member with a text. A flushed one ends with an empty block, like those of API servers.
func member(t *testing.T, text string, flush bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	if flush {
		err = errors.Join(err, w.Flush())
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBodiesKeepNothingBetweenMembers writes members one after the other: the bytes of each are returned although the
// next one has not arrived, and the body needs no decompressor meanwhile.
func TestBodiesKeepNothingBetweenMembers(t *testing.T) {
	for _, flush := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			b := newGzipBody(in)
			var got []byte
			var end error
			go func() {
				part := make([]byte, 100)
				for end == nil {
					var n int
					n, end = b.Read(part)
					got = append(got, part[:n]...)
				}
			}()
			for _, want := range []string{"first", "first, second"} {
				_, _ = out.Write(member(t, strings.TrimPrefix(want, string(got)), flush))
				synctest.Wait()
				if string(got) != want || b.member != nil || end != nil {
					t.Errorf("the body has returned %q, %v, and waits with the decompressor %p; want %q", got, end, b.member, want)
				}
			}
			_ = out.Close()
			synctest.Wait()
			if !errors.Is(end, io.EOF) {
				t.Errorf("the body ends with %v", end)
			}
		})
	}
}

func TestCompressedBodies(t *testing.T) {
	long := strings.Repeat("many bytes ", 10_000)
	whole := append(member(t, long, true), member(t, "", false)...)
	whole = append(whole, member(t, "the end", false)...)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	for _, tt := range []struct {
		name string
		body []byte
		want string
		err  error // nil for the end
	}{
		{"complete", whole, long + "the end", nil},
		{"empty", nil, "", nil},
		{"cut in a header", whole[:3], "", io.ErrUnexpectedEOF},
		{"cut in the last member", whole[:len(whole)-9], long + "the end", io.ErrUnexpectedEOF},
		{"a wrong checksum", damaged, long + "the end", gzip.ErrChecksum},
		{"not compressed", []byte("a long text without compression"), "", gzip.ErrHeader},
		{"followed by text", append(member(t, "a", true), "a text without compression"...), "a", gzip.ErrHeader},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, read := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			} {
				got, err := io.ReadAll(newGzipBody(io.NopCloser(read(bytes.NewReader(tt.body)))))
				if string(got) != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("%s: ReadAll = %d bytes, %v; want %d bytes, %v", name, len(got), err, len(tt.want), tt.err)
				}
			}
		})
	}
}
