// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

const (
	// maxShared is the maximum length of strings that share memory.
	maxShared = 40
	// chunkBytes is the size of the memory that short strings share. A string that a caller keeps keeps its chunk alive,
	// so larger chunks would cost more memory than they save time.
	chunkBytes = 128
)

// A decoder decodes one message. Short strings of the message share memory in chunks, because allocating them one by
// one takes longer than copying them.
type decoder struct {
	chunk []byte
	left  int // the length of the message without the strings so far, which limits the size of the next chunk
}

// text returns data as a string. It is called in many places: inlining it would add 10 kB to each program.
//
//go:noinline
func (d *decoder) text(data []byte) string {
	if len(data) > maxShared {
		return string(data)
	}
	if cap(d.chunk)-len(d.chunk) < len(data) {
		d.chunk = make([]byte, 0, max(len(data), min(chunkBytes, d.left)))
	}
	d.left -= len(data)
	start := len(d.chunk)
	// Unlike append, this stores no pointer, which would take long while the garbage collector marks objects.
	d.chunk = d.chunk[:start+len(data)]
	copy(d.chunk[start:], data)
	return unchanging(d.chunk[start:])
}
