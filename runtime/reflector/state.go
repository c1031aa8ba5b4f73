// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"sync"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// State is one state of an object, as a store keeps it: it may be compressed. The zero value is the state of an object
// that does not exist. A State stays valid when the object changes. It is immutable, and safe for concurrent use.
type State struct {
	kept   wire.Packed
	codec  Codec            // nil if the object is not compressed
	fields *wire.Projection // see Fields
}

// StateOf returns the state of a packed object with all fields, whose bytes must stay valid.
func StateOf(object wire.Packed) State { return State{kept: object} }

// Exists reports whether the object exists.
func (s State) Exists() bool { return s.kept.Len() > 0 }

// Fields returns the fields that the object has at least, since a reflector holds only those that its stores read; see
// [StoreOf]. Nil means all fields.
func (s State) Fields() *wire.Projection { return s.fields }

// Size returns the size of the kept object in bytes.
func (s State) Size() int { return s.kept.Len() }

// Packed returns the packed object. The bytes stay valid, and must not be changed. If the object is compressed, each
// call decompresses it into new memory; [State.Decode] and [State.Head] don't.
func (s State) Packed() wire.Packed { return s.plain(nil) }

// Decode decodes the object into obj, like [wire.Packed.Decode].
func (s State) Decode(obj core.Object) error {
	if s.codec == nil {
		return s.kept.Decode(obj)
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	return s.in(buffer).Decode(obj)
}

// Head decodes the object's identity and version, like [wire.Packed.Head].
func (s State) Head() (wire.Head, error) {
	if _, ok := s.codec.(keepsMetadata); ok {
		s.codec = nil
	}
	if s.codec == nil {
		return s.kept.Head()
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	return s.in(buffer).Head()
}

// Format prints the encoding and the size for any verb. It does not print the object, which may be secret.
func (s State) Format(f fmt.State, verb rune) {
	s.Packed().Format(f, verb)
}

// buffers are for objects that are decompressed for a short time.
//
//nolint:gochecknoglobals // a cache
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// in returns the packed object of a compressed one, which is valid until the buffer is used again.
func (s State) in(buffer *[]byte) wire.Packed {
	object := s.plain(*buffer)
	*buffer = object.Bytes()[:0]
	return object
}

// plain returns the packed object. If it is compressed, the result uses the capacity of buffer. If it can't be
// decompressed, the result is an invalid object.
func (s State) plain(buffer []byte) wire.Packed {
	if s.codec == nil {
		return s.kept
	}
	data, err := s.codec.Decompress(buffer[:0], s.kept.Bytes())
	if err != nil {
		data = invalid(err)
	}
	return wire.NewPacked(s.kept.Encoding(), data)
}

// invalid returns data that no decoder accepts.
func invalid(err error) []byte { return []byte("\xff" + err.Error()) }
