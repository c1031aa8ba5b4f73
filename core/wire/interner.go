// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "strings"

// Strings up to maxShared bytes share memory in chunks. A string keeps at most one chunk alive.
const (
	maxShared  = 40
	chunkBytes = 512
)

// interner converts bytes to strings, and returns the same string for the same bytes where possible. The bytes must be
// short and not empty.
type interner struct {
	names  [256]string // by hash
	values [64]any     // strings by hash
	chunk  strings.Builder
}

func (n *interner) name(text []byte) string {
	slot := &n.names[hash(text)%uint(len(n.names))]
	if *slot != string(text) {
		*slot = n.copy(text)
	}
	return *slot
}

// value is name for values, which are stored in interfaces.
func (n *interner) value(text []byte) any {
	slot := &n.values[hash(text)%uint(len(n.values))]
	if s, _ := (*slot).(string); s != string(text) {
		*slot = n.copy(text)
	}
	return *slot
}

// hash mixes the length and three bytes, which is enough to distinguish the names of one object.
func hash(s []byte) uint {
	n := len(s)
	return uint(n) + uint(s[0])*31 + uint(s[n/2])*7 + uint(s[n-1])*131
}

// copy returns a short string whose memory is a part of a chunk.
func (n *interner) copy(text []byte) string {
	if n.chunk.Cap()-n.chunk.Len() < len(text) {
		n.chunk = strings.Builder{}
		n.chunk.Grow(chunkBytes)
	}
	start := n.chunk.Len()
	n.chunk.Write(text)
	return n.chunk.String()[start:]
}
