// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Marshal encodes an object as a request body. The kind and apiVersion come from res; Marshal sets the TypeMeta of obj
// to match, and changes nothing else.
func Marshal(obj core.Object, res core.Resource, encoding Encoding) ([]byte, error) {
	if kind := obj.GetObjectKind(); kind.GroupVersionKind() != res.GroupVersionKind() {
		kind.SetGroupVersionKind(res.GroupVersionKind())
	}
	var body []byte
	var err error
	if encoding == Protobuf {
		body, err = marshalEnvelope(typeMeta{res.APIVersion(), res.Kind}, obj)
	} else {
		body, err = MarshalJSON(obj)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", res.Kind, err)
	}
	return body, nil
}

// Unmarshal decodes a body with one object into obj, and sets the TypeMeta of obj to that of the body.
func Unmarshal(body []byte, contentType string, obj core.Object) error {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return err
	}
	if encoding != Protobuf {
		return Packed{encoding, body}.Decode(obj)
	}
	tm, msg, err := parseEnvelope(body)
	if err != nil {
		return err
	}
	if err := (Packed{encoding: Protobuf, data: msg}).Decode(obj); err != nil {
		return err
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(tm.apiVersion, tm.kind))
	return nil
}

// UnmarshalStatus decodes a body that may be a Status object. It returns nil for any other body.
func UnmarshalStatus(body []byte, contentType string) *metav1.Status {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return nil
	}
	status := new(metav1.Status)
	if encoding == Protobuf {
		tm, msg, err := parseEnvelope(body)
		if err != nil || tm.kind != "Status" || protobuf.Unmarshal(msg, status) != nil {
			return nil
		}
		return status
	}
	if (Packed{encoding, body}).decodeAny(status) != nil || status.Kind != "Status" {
		return nil
	}
	return status
}
