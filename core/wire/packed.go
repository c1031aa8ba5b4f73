// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Packed is one object in its wire form. It is immutable, and safe for concurrent use as long as its bytes live: those
// of an object that came off a stream live until the next item is asked for; [Packed.Compact] makes a lasting copy.
type Packed struct {
	encoding Encoding
	data     []byte
}

// NewPacked returns the packed form of an object's bytes: a JSON object, a CBOR map, or a protobuf message without its
// envelope. The bytes are kept, not copied. They must be valid: of bytes that are not, methods may return nonsense for an error.
func NewPacked(encoding Encoding, data []byte) Packed {
	return Packed{encoding: encoding, data: data}
}

// Pack encodes an object.
func Pack(obj core.Object, encoding Encoding) (Packed, error) {
	var data []byte
	var err error
	switch encoding {
	case Protobuf:
		data, err = protobuf.Append(nil, obj)
	case CBOR:
		data, err = marshalCBOR(obj)
	default:
		data, err = MarshalJSON(obj)
	}
	if err != nil {
		return Packed{}, fmt.Errorf("pack %T: %w", obj, err)
	}
	return Packed{encoding, data}, nil
}

// Transcode returns the object in another encoding. Between JSON and CBOR that takes no type; protobuf takes one, so it is an
// error from and to there.
func (p Packed) Transcode(to Encoding) (Packed, error) {
	var data []byte
	var err error
	switch {
	case p.encoding == to:
		return p, nil
	case p.encoding == CBOR && to == JSON:
		data, err = cborToJSON(p.data)
	case p.encoding == JSON && to == CBOR:
		var content map[string]any
		if err = unmarshalMap(p.data, &content); err == nil {
			data, err = direct.Marshal(content)
		}
	default:
		err = errors.New("it takes a type: Decode it, then Pack it")
	}
	if err != nil {
		return Packed{}, fmt.Errorf("transcode %s to %s: %w", p.encoding, to, err)
	}
	return Packed{to, data}, nil
}

// Encoding returns how the object is encoded.
func (p Packed) Encoding() Encoding { return p.encoding }

// Bytes returns the object's bytes, which must not be changed: what [NewPacked] takes.
func (p Packed) Bytes() []byte { return p.data }

// Len returns the number of bytes.
func (p Packed) Len() int { return len(p.data) }

// Decode decodes the object into obj, which should be a fresh value, and shares no memory with it. Protobuf bytes need
// a type that [SupportsProtobuf]. Of a struct's kind and apiVersion, what the bytes do not say, as those of list items do not, is
// left alone; an unstructured object becomes exactly what the bytes say.
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

// decodeAny decodes what the bytes say into v, a pointer.
func (p Packed) decodeAny(v any) error {
	if err := p.checkValues(v); err != nil {
		return err
	}
	switch p.encoding {
	case Protobuf:
		return protobuf.Unmarshal(p.data, v)
	case CBOR:
		return unmarshalCBOR(p.data, v)
	default:
		return UnmarshalJSON(p.data, v)
	}
}

// Compact returns a copy of the object that owns its bytes, without managedFields.
func (p Packed) Compact() (Packed, error) {
	compact := compactJSON
	switch p.encoding {
	case Protobuf:
		compact = compactProtobuf
	case CBOR:
		compact = compactCBOR
	default:
	}
	data, err := compact(p.data)
	if err != nil {
		return Packed{}, fmt.Errorf("compact %s object: %w", p.encoding, err)
	}
	return Packed{p.encoding, data}, nil
}

// isObject reports whether the bytes begin as those of an object do.
func (p Packed) isObject() bool {
	switch p.encoding {
	case CBOR:
		h, _, err := cborHeadAt(p.data, skipCBORTags(p.data))
		return err == nil && h.major == cborMap
	case JSON:
		return jsontext.Value(p.data).Kind() == '{'
	default:
		return true
	}
}
