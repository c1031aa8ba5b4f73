// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

const (
	jsonType     = wire.MediaTypeJSON
	protobufType = wire.MediaTypeProtobuf
)

// leanConfigMap declares what one program needs of a ConfigMap.
type leanConfigMap struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

func (*leanConfigMap) KubeResource() core.Resource { return configMaps }

// configMaps and nodes are resources of the server that the tests play. Never changed.
var (
	configMaps = core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	nodes      = core.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}
)

// ask is a request as it came in.
type ask struct {
	Method, URI string
	Header      http.Header
	Body        string
}

// fakeServer answers requests by a function that a test may replace, and remembers them.
type fakeServer struct {
	*httptest.Server

	mu   sync.Mutex // guards asks
	asks []ask
}

// serve starts a TLS server that speaks HTTP/2 and HTTP/1.1. The test fails when goroutines outlive it.
func serve(t testing.TB, answer http.HandlerFunc) *fakeServer {
	t.Helper()
	checkGoroutines(t)
	s := &fakeServer{}
	s.Server = httptest.NewUnstartedServer(s.remember(answer))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *fakeServer) remember(answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asks = append(s.asks, ask{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		s.mu.Unlock()
		answer(w, r)
	})
}

// asked returns the requests so far.
func (s *fakeServer) asked() []ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// config returns a configuration that trusts the server.
func (s *fakeServer) config() *config.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &config.Config{Server: s.URL, CAData: ca, Source: "the test"}
}

// client returns a client of the server that sends each request once.
func (s *fakeServer) client(t testing.TB) *client.Client {
	t.Helper()
	return newClient(t, &client.Options{Config: s.config(), Retry: once()})
}

// once are the options for tests that look at one answer; those of retries stand in retry_test.go.
func once() *middleware.RetryOptions { return &middleware.RetryOptions{Attempts: 1} }

func newClient(t testing.TB, o *client.Options) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkGoroutines makes the test fail when more goroutines run at its end than do now.
func checkGoroutines(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.After(5 * time.Second)
		for runtime.NumGoroutine() > before {
			select {
			case <-deadline:
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines run after the test, %d did before:\n%s",
					runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// envelope encodes an object of the core group for the wire by apimachinery's means, which owe nothing to ours.
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

func toJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reply answers with a body of a content type.
func reply(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// fail answers with a Status as API servers do.
func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	body, _ := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   "Failure", Code: int32(code), Reason: reason, Message: message,
	})
	reply(w, code, jsonType, body)
}

// server is a ConfigMap as the server has it, without its kind as protobuf messages and list items have it.
func stored(name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: "u-" + "1", ResourceVersion: "7"},
		Data:       map[string]string{"color": color},
	}
}

// configMapJSON is the same in JSON, with its kind.
func configMapJSON(t testing.TB, name, color string) []byte {
	t.Helper()
	cm := stored(name, color)
	cm.APIVersion, cm.Kind = "v1", "ConfigMap"
	return toJSON(t, cm)
}

func unstructuredConfigMap(name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"data":     map[string]any{"color": color},
	}}
}

// newConfig returns a configuration of a server that is not there.
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
