// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"

	// envelope begins each protobuf object, see
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding-idl.
	envelope = "k8s\x00"
)

// appendUnknown appends a runtime.Unknown with its prefix, up to the content, of which size bytes follow.
func appendUnknown(dst []byte, kind schema.GroupVersionKind, size int) []byte {
	var typeMeta []byte
	typeMeta = appendBytes(typeMeta, 1, kind.GroupVersion().String())
	typeMeta = appendBytes(typeMeta, 2, kind.Kind)
	dst = append(dst, envelope...)
	dst = appendBytes(dst, 1, typeMeta)
	dst = protowire.AppendTag(dst, 2, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

func appendBytes[T string | []byte](dst []byte, num protowire.Number, value T) []byte {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// listMeta is the metadata of a list.
type listMeta struct {
	version   string
	token     string // continue
	remaining int
}

// list returns the bytes before and after the items of a list, and the bytes before an item.
func (f form) list(
	kind schema.GroupVersionKind, meta listMeta, items [][]byte,
) (head, tail []byte, before func(i int) []byte) {
	kind.Kind += "List"
	if !f.protobuf {
		remaining := ""
		if meta.remaining > 0 {
			remaining = fmt.Sprintf(`,"remainingItemCount":%d`, meta.remaining)
		}
		head = fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q,"continue":%q%s},"items":[`,
			kind.Kind, kind.GroupVersion(), meta.version, meta.token, remaining)
		return head, []byte("]}\n"), func(i int) []byte {
			if i == 0 {
				return nil
			}
			return []byte{','}
		}
	}
	var m []byte
	m = appendBytes(m, 2, meta.version)
	m = appendBytes(m, 3, meta.token)
	if meta.remaining > 0 {
		m = protowire.AppendTag(m, 4, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(meta.remaining))
	}
	m = appendBytes(nil, 1, m)
	size := len(m)
	for _, item := range items {
		size += 1 + protowire.SizeBytes(len(item))
	}
	head = append(appendUnknown(nil, kind, size), m...)
	var scratch []byte
	return head, nil, func(i int) []byte {
		scratch = protowire.AppendTag(scratch[:0], 2, protowire.BytesType)
		scratch = protowire.AppendVarint(scratch, uint64(len(items[i])))
		return scratch
	}
}

// appendEvent appends an event of a watch.
func (f form) appendEvent(dst []byte, event core.EventType, kind schema.GroupVersionKind, object []byte) []byte {
	if !f.protobuf {
		dst = append(dst, `{"type":"`...)
		dst = append(dst, event...)
		dst = append(dst, `","object":`...)
		dst = append(dst, object...)
		return append(dst, "}\n"...)
	}
	head := appendUnknown(nil, kind, len(object))
	raw := 1 + protowire.SizeBytes(len(head)+len(object))
	size := 1 + protowire.SizeBytes(len(event)) + 1 + protowire.SizeBytes(raw)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = appendBytes(dst, 1, string(event))
	dst = protowire.AppendTag(dst, 2, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(raw))
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(head)+len(object)))
	return append(append(dst, head...), object...)
}
