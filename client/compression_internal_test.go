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

// TestBodiesKeepNothingBetweenMembers reads members that arrive one after the other: the bytes of each are returned
// before the next one arrives, and the body needs no decompressor meanwhile.
func TestBodiesKeepNothingBetweenMembers(t *testing.T) {
	for _, flush := range []bool{true, false} {
		in, out := io.Pipe()
		b := newGzipBody(in)
		go func() {
			for _, text := range []string{"first", "second"} {
				_, _ = out.Write(member(t, text, flush))
			}
			_ = out.Close()
		}()
		for _, want := range []string{"first", "second"} {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(b, got); err != nil || string(got) != want {
				t.Fatalf("Read = %q, %v; want %q", got, err, want)
			}
		}
		if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read at the end = %d, %v", n, err)
		}
		if b.member != nil {
			t.Error("the body keeps a decompressor after the end of a member")
		}
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
