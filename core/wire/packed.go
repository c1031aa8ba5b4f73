// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Packed is one object in its wire form. It is immutable, and safe for concurrent use as long as its bytes live: those
// of an object that came off a stream live until the next item is asked for; [Packed.Compact] makes a lasting copy.
type Packed struct {
	encoding Encoding
	data     []byte
}

// NewPacked returns the packed form of an object's bytes: a JSON object, or a protobuf message without its envelope.
// The bytes are kept, not copied. They must be valid: of bytes that are not, methods may return nonsense for an error.
func NewPacked(encoding Encoding, data []byte) Packed {
	return Packed{encoding: encoding, data: data}
}

// Pack encodes an object.
func Pack(obj core.Object, encoding Encoding) (Packed, error) {
	if encoding == Protobuf {
		buf, err := protobuf.Append(nil, obj)
		if err != nil {
			return Packed{}, fmt.Errorf("pack %w", err)
		}
		return Packed{encoding: Protobuf, data: buf}, nil
	}
	buf, err := MarshalJSON(obj)
	if err != nil {
		return Packed{}, fmt.Errorf("pack %T: %w", obj, err)
	}
	return Packed{encoding: JSON, data: buf}, nil
}

// Encoding returns how the object is encoded.
func (p Packed) Encoding() Encoding { return p.encoding }

// Bytes returns the object's bytes, which must not be changed: a JSON object, or a protobuf message without envelope.
func (p Packed) Bytes() []byte { return p.data }

// Len returns the number of bytes.
func (p Packed) Len() int { return len(p.data) }

// Decode decodes the object into obj, which should be a fresh value, and shares no memory with it. Protobuf bytes need
// a type that [SupportsProtobuf]. Of a struct's kind and apiVersion, what the bytes do not say, as those of list items do not, is
// left alone; an unstructured object becomes exactly what the bytes say.
func (p Packed) Decode(obj core.Object) error {
	if p.encoding == Protobuf {
		err := protobuf.Unmarshal(p.data, obj)
		switch {
		case err == nil:
			return nil
		case !SupportsProtobuf(obj):
			return fmt.Errorf("decode %w; ask the server for JSON", err)
		}
		return fmt.Errorf("decode %w", err)
	}
	var err error
	if u, ok := obj.(*unstructured.Unstructured); ok {
		err = UnmarshalJSON(p.data, &u.Object)
	} else {
		err = UnmarshalJSON(p.data, obj)
	}
	if err != nil {
		return fmt.Errorf("decode json: %w", err)
	}
	return nil
}

// Head is the part of the metadata that a cache needs of every object.
type Head struct {
	Ref             core.ObjectRef
	UID             types.UID
	ResourceVersion string
}

// Head decodes the object's identity and version, without decoding the rest.
func (p Packed) Head() (Head, error) {
	meta, err := p.rawMetadata()
	if err != nil {
		return Head{}, fmt.Errorf("decode metadata: %w", err)
	}
	var h Head
	if p.encoding == Protobuf {
		err = h.fromProtobuf(meta)
	} else {
		err = h.fromJSON(meta)
	}
	if err != nil {
		return Head{}, fmt.Errorf("decode metadata: %w", err)
	}
	return h, nil
}

func (h *Head) fromProtobuf(meta []byte) error {
	return eachField(meta, func(num protowire.Number, value []byte) error {
		switch num {
		case metaName:
			h.Ref.Name = string(value)
		case metaNamespace:
			h.Ref.Namespace = string(value)
		case metaUID:
			h.UID = types.UID(value)
		case metaResourceVersion:
			h.ResourceVersion = string(value)
		default: // the rest is not asked for
		}
		return nil
	})
}

func (h *Head) fromJSON(meta []byte) error {
	return eachMember(meta, func(m member) error {
		switch string(m.name) {
		case "name":
			h.Ref.Name = text(m.value)
		case "namespace":
			h.Ref.Namespace = text(m.value)
		case "uid":
			h.UID = types.UID(text(m.value))
		case "resourceVersion":
			h.ResourceVersion = text(m.value)
		}
		return nil
	})
}

// Metadata decodes the object's metadata without its managedFields.
func (p Packed) Metadata() (*metav1.ObjectMeta, error) {
	meta, err := p.rawMetadata()
	m := new(metav1.ObjectMeta)
	switch {
	case err != nil || len(meta) == 0:
	case p.encoding == Protobuf:
		if meta, err = appendWithout(nil, meta, metaManagedFields); err == nil {
			err = m.Unmarshal(meta)
		}
	default:
		err = UnmarshalJSON(meta, &struct {
			*metav1.ObjectMeta
			ManagedFields ignored `json:"managedFields"` // in place of ObjectMeta's
		}{ObjectMeta: m})
	}
	if err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return m, nil
}

// ignored is a JSON value that is passed over.
type ignored struct{}

// UnmarshalJSONFrom skips the value.
func (*ignored) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

// Compact returns a copy of the object that owns its bytes, without managedFields.
func (p Packed) Compact() (Packed, error) {
	compact := compactJSON
	if p.encoding == Protobuf {
		compact = compactProtobuf
	}
	data, err := compact(p.data)
	if err != nil {
		return Packed{}, fmt.Errorf("compact %s object: %w", p.encoding, err)
	}
	return Packed{encoding: p.encoding, data: data}, nil
}

// rawMetadata returns the bytes of the object's metadata, nil when it has none.
func (p Packed) rawMetadata() (meta []byte, err error) {
	if p.encoding == Protobuf {
		err = eachField(p.data, func(num protowire.Number, value []byte) error {
			if num == objectMetadata {
				meta = value
				return errStop
			}
			return nil
		})
	} else {
		err = eachMember(p.data, func(m member) error {
			if string(m.name) == "metadata" {
				meta = m.value
				return errStop
			}
			return nil
		})
	}
	if err == errStop {
		err = nil
	}
	return meta, err
}
