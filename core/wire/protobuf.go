// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// SupportsProtobuf reports whether obj, a pointer to a struct, can be encoded as protobuf: each of its JSON fields has
// a protobuf tag. The kinds of k8s.io/api can, with few exceptions.
func SupportsProtobuf(obj any) bool {
	return obj != nil && protobuf.Supports(reflect.TypeOf(obj))
}

// magic starts every protobuf-encoded body.
const magic = "k8s\x00"

// The field numbers of the messages that this package parses, from the generated.proto files of apimachinery.
const (
	unknownTypeMeta = 1
	unknownRaw      = 2

	typeMetaAPIVersion = 1
	typeMetaKind       = 2

	listMeta  = 1
	listItems = 2

	eventType   = 1
	eventObject = 2

	rawExtensionRaw = 1

	objectMetadata = 1

	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaLabels          = 11
	metaAnnotations     = 12
	metaOwnerReferences = 13
	metaManagedFields   = 17

	ownerUID = 4

	entryKey   = 1
	entryValue = 2
)

// typeMeta is the kind that an envelope declares.
type typeMeta struct{ apiVersion, kind string }

// marshalEnvelope returns an object in its envelope.
func marshalEnvelope(tm typeMeta, obj any) ([]byte, error) {
	kind := make([]byte, 0, 64)
	kind = protowire.AppendTag(kind, typeMetaAPIVersion, protowire.BytesType)
	kind = protowire.AppendString(kind, tm.apiVersion)
	kind = protowire.AppendTag(kind, typeMetaKind, protowire.BytesType)
	kind = protowire.AppendString(kind, tm.kind)

	body := append(make([]byte, 0, 16+len(kind)), magic...)
	body = protowire.AppendTag(body, unknownTypeMeta, protowire.BytesType)
	body = protowire.AppendBytes(body, kind)
	return protobuf.AppendField(body, unknownRaw, obj)
}

var (
	errNotEnvelope   = errors.New("protobuf: body does not start with the Kubernetes protobuf prefix")
	errEmptyEnvelope = fmt.Errorf("protobuf: envelope without an object: %w", io.ErrUnexpectedEOF)
)

// parseEnvelope returns the content of a complete envelope. The message shares memory with data.
func parseEnvelope(data []byte) (tm typeMeta, msg []byte, err error) {
	kind, msg, err := splitEnvelope(data)
	if err == nil {
		tm, err = parseTypeMeta(kind)
	}
	return tm, msg, err
}

// splitEnvelope returns the encoded kind and the message of an envelope. Both share memory with data.
func splitEnvelope(data []byte) (kind, msg []byte, err error) {
	data, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, nil, errNotEnvelope
	}
	err = eachField(data, func(num protowire.Number, value []byte) error {
		switch num {
		case unknownTypeMeta:
			kind = value
		case unknownRaw:
			msg = value
		default: // how the object is encoded, which is always the same
		}
		return nil
	})
	if err == nil && msg == nil {
		err = errEmptyEnvelope
	}
	return kind, msg, err
}

func parseTypeMeta(data []byte) (tm typeMeta, err error) {
	err = eachField(data, func(num protowire.Number, value []byte) error {
		switch num {
		case typeMetaAPIVersion:
			tm.apiVersion = string(value)
		case typeMetaKind:
			tm.kind = string(value)
		default:
		}
		return nil
	})
	return tm, err
}

// firstField returns the number, the bytes and the value of the first field of a message. field includes the tag. The
// value is nil unless the field is length-delimited.
func firstField(data []byte) (num protowire.Number, field, value []byte, err error) {
	num, typ, n := protowire.ConsumeTag(data)
	if n < 0 {
		return 0, nil, nil, fmt.Errorf("protobuf: %w", protowire.ParseError(n))
	}
	var size int
	if typ == protowire.BytesType {
		value, size = protowire.ConsumeBytes(data[n:])
	} else {
		size = protowire.ConsumeFieldValue(num, typ, data[n:])
	}
	if size < 0 {
		return 0, nil, nil, fmt.Errorf("protobuf: field %d: %w", num, protowire.ParseError(size))
	}
	return num, data[:n+size], value, nil
}

// eachRawField calls visit with each field of a message, see firstField.
func eachRawField(data []byte, visit func(num protowire.Number, field, value []byte) error) error {
	for len(data) > 0 {
		num, field, value, err := firstField(data)
		if err == nil {
			err = visit(num, field, value)
		}
		if err != nil {
			return err
		}
		data = data[len(field):]
	}
	return nil
}

// eachField calls visit with the value of each length-delimited field of a message.
func eachField(data []byte, visit func(num protowire.Number, value []byte) error) error {
	for len(data) > 0 {
		num, field, value, err := firstField(data)
		if err == nil && value != nil {
			err = visit(num, value)
		}
		if err != nil {
			return err
		}
		data = data[len(field):]
	}
	return nil
}

// appendWithout appends the fields of a message to dst, except for those with the number drop.
func appendWithout(dst, data []byte, drop protowire.Number) ([]byte, error) {
	err := eachRawField(data, func(num protowire.Number, field, _ []byte) error {
		if num != drop {
			dst = append(dst, field...)
		}
		return nil
	})
	return dst, err
}

// appendCompactProtobuf appends an object without metadata.managedFields.
func appendCompactProtobuf(dst, data []byte) ([]byte, error) {
	var meta []byte
	from, to := 0, 0 // where the metadata stands, as a field
	err := eachRawField(data, func(num protowire.Number, field, value []byte) error {
		to += len(field)
		if num == objectMetadata && value != nil {
			meta = value
			return errStop
		}
		from = to
		return nil
	})
	before, after := data[:from], data[to:]
	if meta == nil {
		return append(append(dst, before...), after...), err
	}
	size := 0 // of the metadata without managedFields
	err = eachRawField(meta, func(num protowire.Number, field, _ []byte) error {
		if num != metaManagedFields {
			size += len(field)
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, before...)
	dst = protowire.AppendTag(dst, objectMetadata, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	if dst, err = appendWithout(dst, meta, metaManagedFields); err != nil {
		return dst, err
	}
	return append(dst, after...), nil
}
