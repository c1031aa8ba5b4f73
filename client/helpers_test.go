// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

const (
	jsonType     = wire.MediaTypeJSON
	protobufType = wire.MediaTypeProtobuf
)

// leanConfigMap declares the fields of a ConfigMap that one program needs.
type leanConfigMap struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

func (*leanConfigMap) KubeResource() core.Resource { return configMaps }

// configMaps and nodes are resources of the test server. They are never changed.
var (
	configMaps = core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	nodes      = core.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
)

// envelope encodes an object of the core group with apimachinery, independently of this module.
func envelope(t testing.TB, kind string, msg interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := msg.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	unknown := kuberuntime.Unknown{TypeMeta: kuberuntime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	data, err := unknown.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), data...)
}

// frame encodes a watch event with an object in an envelope.
func frame(t testing.TB, event core.EventType, object []byte) []byte {
	t.Helper()
	data, err := (&metav1.WatchEvent{Type: string(event), Object: kuberuntime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// stored returns a ConfigMap as stored by the server, without its kind, like protobuf messages and list items.
func stored(name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: "u-" + "1", ResourceVersion: "7"},
		Data:       map[string]string{"color": color},
	}
}

// configMap returns an object that a server does not have yet.
func configMap(name, color string) *corev1.ConfigMap {
	cm := stored(name, color)
	cm.UID, cm.ResourceVersion = "", ""
	return cm
}

// configMapJSON is the stored object in JSON, with its kind.
func configMapJSON(t testing.TB, name, color string) []byte {
	t.Helper()
	cm := stored(name, color)
	cm.APIVersion, cm.Kind = "v1", "ConfigMap"
	return testserver.JSON(t, cm)
}

func unstructuredConfigMap(name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"data":     map[string]any{"color": color},
	}}
}

// newConfig returns a configuration for an address without a server.
func newConfig(server string) *config.Config {
	return &config.Config{Server: server, Namespace: "mine", Source: "the test"}
}

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newPlainServer starts a server without TLS.
func newPlainServer(t testing.TB, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}
