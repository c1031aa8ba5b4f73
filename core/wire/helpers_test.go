// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"

	"github.com/kube-go/sdk/core/wire"
)

// envelope wraps a protobuf message by means of apimachinery's own types, so that ours are tested against them.
func envelope(apiVersion, kind string, message []byte) ([]byte, error) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: message}
	data, err := unknown.Marshal()
	return append([]byte("k8s\x00"), data...), err
}

// encodeList encodes a list of pods as a server sends it.
func encodeList(list *corev1.PodList, encoding wire.Encoding) ([]byte, error) {
	switch encoding {
	case wire.CBOR:
		list.Kind, list.APIVersion = "PodList", "v1"
		return inCBOR(list)
	case wire.Protobuf:
		data, err := list.Marshal()
		if err != nil {
			return nil, err
		}
		return envelope("v1", "PodList", data)
	default:
		list.Kind, list.APIVersion = "PodList", "v1"
		return json.Marshal(list)
	}
}

// inCBOR encodes an object as a server sends it, by means of apimachinery.
func inCBOR(obj runtime.Object) ([]byte, error) {
	var b bytes.Buffer
	err := cbor.NewSerializer(nil, nil).Encode(obj, &b)
	return b.Bytes(), err
}

// anyOrder compares JSON inside objects but for the order of names, which goes by their lengths in CBOR.
func anyOrder() cmp.Options {
	same := func(a, b []byte) bool {
		var x, y any
		return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
	}
	return cmp.Options{
		cmp.Comparer(func(a, b runtime.RawExtension) bool { return same(a.Raw, b.Raw) }),
		cmp.Comparer(func(a, b metav1.FieldsV1) bool {
			return same([]byte(a.GetRawString()), []byte(b.GetRawString()))
		}),
	}
}
