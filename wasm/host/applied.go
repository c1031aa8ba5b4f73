// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// maxMetadata is the maximum size of the metadata of an applied object in bytes. Servers accept 256 KiB of annotations.
// Decoded, metadata can need more than 30 times as much memory.
const maxMetadata = 512 << 10

// maxCompared is the maximum memory in bytes for a decoded status and the decoded one of an object that it is compared
// with. If they need more, the status is applied in each run.
const maxCompared = 4 << 20

// applied is an object that a guest applies, or the response of the server. Only its metadata is decoded: other fields
// could need 50 times as much memory as they have bytes.
type applied struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	data []byte // the object in JSON
	meta [2]int // the start and the end of the metadata in data
}

// MarshalJSON returns the object with the values that the guest has sent. The encoder escapes five characters with six
// bytes each. Servers refuse a body that is larger than a message.
func (a *applied) MarshalJSON() ([]byte, error) {
	size := len(a.data)
	for _, c := range []string{"<", ">", "&", "\u2028", "\u2029"} {
		size += (6 - len(c)) * bytes.Count(a.data, []byte(c))
	}
	if size > abi.MaxMessage {
		return nil, fmt.Errorf("the object has %d bytes when it is sent: at most %d are supported", size, abi.MaxMessage)
	}
	return a.data, nil
}

// UnmarshalJSON decodes the kind and the metadata of an object.
func (a *applied) UnmarshalJSON(data []byte) error {
	var head metav1.PartialObjectMetadata
	if err := wire.UnmarshalJSON(data, &head); err != nil {
		return err
	}
	a.TypeMeta, a.ObjectMeta = head.TypeMeta, head.ObjectMeta
	return nil
}

// readApplied returns an object of a response of a guest.
func readApplied(data []byte) (*applied, error) {
	a := &applied{data: data}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.New("want an object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if name.String() != "metadata" {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if a.meta[1] > 0 {
			return nil, errors.New("the object has its metadata twice")
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(value) > maxMetadata {
			return nil, fmt.Errorf("metadata has %d bytes: at most %d are supported", len(value), maxMetadata)
		}
		end := int(d.InputOffset())
		a.meta = [2]int{end - len(value), end}
	}
	return a, a.UnmarshalJSON(data)
}

// own makes an object the controlling owner.
func (a *applied) own(owner metav1.OwnerReference) error {
	var fields map[string]jsontext.Value
	if a.meta[1] == 0 {
		return errors.New("the object has no metadata")
	}
	if err := wire.UnmarshalJSON(a.data[a.meta[0]:a.meta[1]], &fields); err != nil {
		return err
	}
	if fields == nil {
		fields = make(map[string]jsontext.Value)
	}
	fields["ownerReferences"] = marshal([]metav1.OwnerReference{owner})
	a.data = slices.Concat(a.data[:a.meta[0]], marshal(fields), a.data[a.meta[1]:])
	return nil
}

// newStatus returns what is applied to an object to write its status.
func newStatus(of *reconciled, status jsontext.Value) *applied {
	a := &applied{TypeMeta: of.TypeMeta}
	a.Namespace, a.Name, a.UID = of.Namespace, of.Name, of.UID
	begin := bytes.TrimSuffix(marshal(&metav1.PartialObjectMetadata{TypeMeta: a.TypeMeta, ObjectMeta: a.ObjectMeta}), []byte("}"))
	a.data = slices.Concat(begin, []byte(`,"status":`), status, []byte("}"))
	return a
}

// decodedBytes returns about the memory that a valid value needs when it is decoded into maps.
func decodedBytes(value []byte) (n int) {
	const object, array, other = 350, 50, 40
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			n += object
		case c == '[':
			n += array
		case c == ',':
			n += other
		}
	}
	return n + len(value)
}
