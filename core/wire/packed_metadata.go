// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Head is the metadata that a cache needs of every object.
type Head struct {
	Ref             core.ObjectRef
	UID             types.UID
	ResourceVersion string
}

// Head decodes the object's identity and version, without decoding the rest.
func (p Packed) Head() (Head, error) {
	h, err := p.readHead()
	if err != nil {
		return Head{}, err
	}
	return h, nil
}

// readHead is Head, but returns what it could read beside the error.
func (p Packed) readHead() (h Head, err error) {
	meta, err := p.rawMetadata()
	if err == nil {
		if p.encoding == Protobuf {
			err = h.fromProtobuf(meta)
		} else {
			err = h.fromMembers(meta)
		}
	}
	if err != nil && err != errStop {
		return h, fmt.Errorf("decode metadata: %w", err)
	}
	return h, nil
}

// complete returns errStop when all fields are set, which ends the walk over the metadata.
func (h *Head) complete() error {
	if h.ResourceVersion != "" && h.UID != "" && h.Ref.Namespace != "" && h.Ref.Name != "" {
		return errStop
	}
	return nil
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
		default: // ignored
			return nil
		}
		return h.complete()
	})
}

func (h *Head) fromMembers(meta []byte) error {
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
		default:
			return nil
		}
		return h.complete()
	})
}

// Labels decodes the object's labels, without decoding the rest.
func (p Packed) Labels() (map[string]string, error) { return p.stringMap("labels", metaLabels) }

// Annotations decodes the object's annotations, without decoding the rest.
func (p Packed) Annotations() (map[string]string, error) {
	return p.stringMap("annotations", metaAnnotations)
}

// stringMap decodes a map in the metadata. It returns nil if the map is missing.
func (p Packed) stringMap(name string, num protowire.Number) (m map[string]string, err error) {
	meta, err := p.boundedMetadata()
	if err == nil {
		if p.encoding == Protobuf {
			m, err = protobufStrings(meta, num)
		} else {
			m, err = memberStrings(meta, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decode metadata.%s: %w", name, err)
	}
	return m, nil
}

func memberStrings(meta []byte, name string) (map[string]string, error) {
	found, err := findMember(meta, name)
	if err != nil || found.value == nil {
		return nil, err
	}
	var m map[string]string
	err = eachMember(found.value, func(entry member) error {
		if m == nil {
			m = map[string]string{}
		}
		m[string(entry.name)] = text(entry.value)
		return nil
	})
	return m, err
}

func protobufStrings(meta []byte, num protowire.Number) (map[string]string, error) {
	var m map[string]string
	err := eachField(meta, func(n protowire.Number, entry []byte) error {
		if n != num {
			return nil
		}
		var key, value string
		err := eachField(entry, func(n protowire.Number, text []byte) error {
			switch n {
			case entryKey:
				key = string(text)
			case entryValue:
				value = string(text)
			default:
			}
			return nil
		})
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
		return err
	})
	return m, err
}

// Owners decodes the UIDs of the object's owner references, without decoding the rest.
func (p Packed) Owners() (owners []types.UID, err error) {
	meta, err := p.boundedMetadata()
	if err == nil {
		if p.encoding == Protobuf {
			owners, err = protobufOwners(meta)
		} else {
			owners, err = memberOwners(meta)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decode metadata.ownerReferences: %w", err)
	}
	return owners, nil
}

func protobufOwners(meta []byte) (owners []types.UID, err error) {
	err = eachField(meta, func(n protowire.Number, reference []byte) error {
		if n != metaOwnerReferences {
			return nil
		}
		return eachField(reference, func(n protowire.Number, value []byte) error {
			if n == ownerUID {
				owners = append(owners, types.UID(value))
			}
			return nil
		})
	})
	return owners, err
}

func memberOwners(meta []byte) (owners []types.UID, err error) {
	references, err := findMember(meta, "ownerReferences")
	if err != nil {
		return nil, err
	}
	err = eachElement(references.value, func(start, end int) error {
		uid, err := findMember(references.value[start:end], "uid")
		if err == nil && uid.value != nil {
			owners = append(owners, types.UID(text(uid.value)))
		}
		return err
	})
	return owners, err
}

// Metadata decodes the object's metadata without its managedFields.
func (p Packed) Metadata() (*metav1.ObjectMeta, error) {
	meta, err := p.boundedMetadata()
	m := new(metav1.ObjectMeta)
	switch {
	case err != nil || len(meta) == 0:
	case p.encoding == Protobuf:
		err = decodeMetadata(meta, m)
	default:
		type Fields metav1.ObjectMeta // without its methods, which a struct that embeds it would have
		err = UnmarshalJSON(meta, &struct {
			*Fields
			ManagedFields ignored `json:"managedFields"` // in place of ObjectMeta's
		}{Fields: (*Fields)(m)})
	}
	if err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return m, nil
}

// decodeMetadata decodes the fields before, between and after managedFields.
func decodeMetadata(meta []byte, m *metav1.ObjectMeta) error {
	from, to := 0, 0 // the fields that have been read but not decoded
	decode := func() error {
		if from == to {
			return nil
		}
		return protobuf.Unmarshal(meta[from:to], m)
	}
	err := eachRawField(meta, func(num protowire.Number, field, _ []byte) (err error) {
		if num == metaManagedFields {
			err = decode()
			from = to + len(field)
		}
		to += len(field)
		return err
	})
	if err != nil {
		return err
	}
	return decode()
}

// ignored is a JSON value that is not decoded.
type ignored struct{}

// UnmarshalJSONFrom skips the value.
func (*ignored) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

// boundedMetadata is rawMetadata, but refuses metadata with too many values.
func (p Packed) boundedMetadata() (meta []byte, err error) {
	if meta, err = p.rawMetadata(); err == nil && len(meta) > 2*maxValues { // otherwise, the check is not needed
		err = Packed{p.encoding, meta}.checkValues(new(metav1.ObjectMeta))
	}
	return meta, err
}

// rawMetadata returns the encoded metadata of the object, nil if it has none.
func (p Packed) rawMetadata() (meta []byte, err error) {
	if p.encoding != Protobuf {
		m, err := findMember(p.data, "metadata")
		return m.value, err
	}
	err = eachField(p.data, func(num protowire.Number, value []byte) error {
		if num == objectMetadata {
			meta = value
			return errStop
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	return meta, err
}
