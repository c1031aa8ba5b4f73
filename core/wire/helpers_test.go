// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/wire"
)

// envelope wraps a protobuf message with apimachinery's types, so that the package is tested against them.
func envelope(apiVersion, kind string, message []byte) ([]byte, error) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: message}
	data, err := unknown.Marshal()
	return append([]byte("k8s\x00"), data...), err
}

// encodeList encodes a list of pods as a server does.
func encodeList(list *corev1.PodList, encoding wire.Encoding) ([]byte, error) {
	if encoding == wire.Protobuf {
		data, err := list.Marshal()
		if err != nil {
			return nil, err
		}
		return envelope("v1", "PodList", data)
	}
	list.Kind, list.APIVersion = "PodList", "v1"
	return json.Marshal(list)
}
