// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Codec compresses objects. It must be safe for concurrent use. Package contrib/zstd has one.
type Codec interface {
	// Compress appends the compressed data to dst. The result must be the same for the same data.
	Compress(dst, data []byte) []byte

	// Decompress appends the original data to dst.
	Decompress(dst, data []byte) ([]byte, error)
}

const (
	// A codec is made when the table has this number of objects. Fewer objects are not worth the memory of a codec.
	fewestObjects = 256

	// A table that changes its form more often keeps its last codec.
	mostCodecs = 100

	// The recent objects of a table are compressed when they have this number of bytes.
	maxRecent = 256 << 10
)

// compression compresses the objects of a table. The table keeps them as [wire.Packed] values whose encoding also has
// the number of the codec, so that an object that was compressed earlier can always be read.
type compression struct {
	create func(samples [][]byte) (Codec, error) // nil if it has failed: objects are not compressed
	codecs codecs                                // guarded by the table's mu; changed with writing held, too
	form   uint64                                // of the objects that the last codec was made for
	buffer []byte                                // used with writing held
	past   Codec                                 // for states that may not be the newest; nil unless the objects are remote

	// The objects that have changed, but not in a list, are compressed later, many at a time. So subscribers are notified
	// earlier, and most of them read an object that is not compressed. Some of these objects may no longer exist, or be
	// compressed already.
	recent      []core.ObjectRef // used with writing held
	recentBytes int              // of these objects
}

// pack returns the object in the form in which the table keeps it, and its name. Both share one allocation, since a
// table has many of them. If recent is true, the object is not compressed. The caller holds t.writing.
func (t *table) pack(name string, encoding wire.Encoding, data []byte, recent bool) (string, wire.Packed) {
	c := &t.compression
	if n := len(c.codecs); n > 0 && !recent {
		encoding |= wire.Encoding(n << 1)
		c.buffer = c.codecs[n-1].Compress(c.buffer[:0], data)
		data = c.buffer
	}
	both := make([]byte, 0, len(name)+len(data))
	both = append(append(both, name...), data...)
	return unsafe.String(unsafe.SliceData(both), len(name)), wire.NewPacked(encoding, both[len(name):])
}

// codecs are the codecs of a table, by number. Objects that were read from the table together with its codecs stay
// readable: codecs are only added, and a reset makes new ones.
type codecs []Codec

// state returns the state of a kept object.
func (c codecs) state(kept wire.Packed) State {
	n, encoding := int(kept.Encoding()>>1), kept.Encoding()&1
	if n == 0 {
		return State{kept: kept}
	}
	return State{kept: wire.NewPacked(encoding, kept.Bytes()), codec: c[n-1]}
}

// plain returns a kept object as the server sent it, see [State.plain].
func (c codecs) plain(kept wire.Packed, buffer []byte) wire.Packed {
	return c.state(kept).plain(buffer)
}

// state returns the state of a kept object. The caller holds t.mu or t.writing.
func (t *table) state(kept wire.Packed) State {
	s := t.compression.codecs.state(kept)
	s.fields = t.fields
	return s
}

// past returns the state of an object that may have a newer one. The caller holds t.mu or t.writing.
func (t *table) past(kept wire.Packed) State {
	s := t.state(kept)
	if past := t.compression.past; past != nil && s.codec != nil {
		s.codec = past
	}
	return s
}

// reset removes the codecs and the recent objects.
func (c *compression) reset() {
	if c.past == nil {
		*c = compression{create: c.create}
	}
}

// isCompressed reports whether a kept object is compressed.
func isCompressed(kept wire.Packed) bool { return kept.Encoding()>>1 != 0 }

// defers records that an object was not compressed. The caller holds t.writing.
func (t *table) defers(ref core.ObjectRef, size int) {
	c := &t.compression
	c.recent = append(c.recent, ref)
	c.recentBytes += size
}

// compress compresses the recent objects if there are enough of them.
func (t *table) compress() {
	c := &t.compression
	if c.recentBytes < maxRecent { // nobody else writes
		return
	}
	runtime.Gosched() // so that the subscribers read the last change first
	t.writing.Lock()
	defer t.writing.Unlock()
	t.repack(c.recent)
	c.recent, c.recentBytes = nil, 0
}

// train makes a codec from the objects of the table and compresses them, if their form has no codec yet and there are
// enough objects. The caller holds t.writing.
func (t *table) train(form uint64) error {
	c := &t.compression
	if c.create == nil || c.form == form && len(c.codecs) > 0 || t.count < fewestObjects || len(c.codecs) == mostCodecs {
		return nil
	}
	samples := make([][]byte, 0, fewestObjects)
	for _, objects := range t.objects {
		for _, e := range objects {
			if len(samples) < fewestObjects {
				samples = append(samples, t.state(e.object).Packed().Bytes()) // nobody else writes
			}
		}
	}
	codec, err := c.create(samples)
	if err != nil {
		c.create = nil
		return fmt.Errorf("compress %s: %w", t.resource, err)
	}
	t.mu.Lock()
	c.codecs = append(c.codecs, codec)
	c.form = form
	t.mu.Unlock()
	t.repack(t.refs())
	return nil
}

// repack compresses objects with the last codec, without blocking readers meanwhile. The caller holds t.writing.
func (t *table) repack(refs []core.ObjectRef) {
	for _, ref := range refs {
		e := t.objects[ref.Namespace][ref.Name]
		if e == nil || int(e.object.Encoding()>>1) == len(t.compression.codecs) {
			continue
		}
		object := t.state(e.object).Packed()
		name, kept := t.pack(ref.Name, object.Encoding(), object.Bytes(), false)
		ref.Name = name
		t.mu.Lock()
		t.rename(e, ref)
		t.bytes += sizeOf(ref, kept) - sizeOf(ref, e.object)
		e.object = kept
		t.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sized()
}
