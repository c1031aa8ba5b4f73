// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Packed is one encoded object. It is immutable, and safe for concurrent use while its bytes are valid. The bytes of an
// object that was read from a stream are valid until the next item is read; [Packed.Compact] returns a copy that owns
// its bytes.
type Packed struct {
	encoding Encoding
	data     []byte
}

// NewPacked returns the packed form of an object's bytes: a JSON object, or a protobuf message without its envelope.
// The bytes are kept, not copied. They must be valid: methods may return a wrong result instead of an error for invalid
// bytes.
func NewPacked(encoding Encoding, data []byte) Packed {
	return Packed{encoding: encoding, data: data}
}

// Pack encodes an object.
func Pack(obj core.Object, encoding Encoding) (Packed, error) {
	var data []byte
	var err error
	if encoding == Protobuf {
		data, err = protobuf.Append(nil, obj)
	} else {
		data, err = MarshalJSON(obj)
	}
	if err != nil {
		return Packed{}, fmt.Errorf("pack %T: %w", obj, err)
	}
	return Packed{encoding, data}, nil
}

// Encoding returns how the object is encoded.
func (p Packed) Encoding() Encoding { return p.encoding }

// Bytes returns the encoded object, as [NewPacked] takes it. The caller must not change the bytes.
func (p Packed) Bytes() []byte { return p.data }

// Len returns the number of bytes.
func (p Packed) Len() int { return len(p.data) }

// Decode decodes the object into obj, which should be a new value, and shares no memory with it. Protobuf needs a type
// for which [SupportsProtobuf] is true. If the bytes have no kind or apiVersion, as those of list items, a struct keeps
// its own, while an unstructured object has exactly the content of the bytes.
func (p Packed) Decode(obj core.Object) error {
	if p.encoding == Protobuf {
		err := p.decodeAny(obj)
		switch {
		case err == nil:
			return nil
		case !SupportsProtobuf(obj):
			return fmt.Errorf("decode %w; ask the server for JSON", err)
		}
		return fmt.Errorf("decode %w", err)
	}
	var into any = obj
	if u, ok := obj.(*unstructured.Unstructured); ok {
		into = &u.Object
	}
	if err := p.decodeAny(into); err != nil {
		return fmt.Errorf("decode %s: %w", p.encoding, err)
	}
	return nil
}

// decodeAny decodes the bytes into v, a pointer.
func (p Packed) decodeAny(v any) error {
	if err := p.checkValues(v); err != nil {
		return err
	}
	if p.encoding == Protobuf {
		return protobuf.Unmarshal(p.data, v)
	}
	return UnmarshalJSON(p.data, v)
}

// Compact returns a copy of the object that owns its bytes; see [Packed.AppendCompact].
func (p Packed) Compact() (Packed, error) {
	data, err := p.AppendCompact(make([]byte, 0, len(p.data)), nil)
	if err != nil {
		return Packed{}, err
	}
	return Packed{p.encoding, bytes.Clone(data)}, nil
}

// AppendCompact appends the object to dst in its encoding, without managedFields and fields that keep does not have,
// and returns the result. The metadata is always kept. JSON objects also lose their kind and apiVersion, which servers
// omit from the items of lists; if keep is nil, only those that precede the metadata, as servers write them.
func (p Packed) AppendCompact(dst []byte, keep *Projection) (data []byte, err error) {
	switch {
	case p.encoding == JSON:
		data, err = appendCompactJSON(dst, p.data, keep.members())
	case keep != nil && keep.message != nil:
		data, err = keep.message.Append(dst, p.data), nil
	default:
		data, err = appendCompactProtobuf(dst, p.data)
	}
	if err != nil {
		return dst, fmt.Errorf("compact %s object: %w", p.encoding, err)
	}
	return data, nil
}

// isObject reports whether the bytes can be an object, judging by how they begin.
func (p Packed) isObject() bool {
	return p.encoding == Protobuf || jsontext.Value(p.data).Kind() == '{'
}
