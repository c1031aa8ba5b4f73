// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestPreferEncodingFallsBackToJSON checks that each request prefers the encoding of the option, and that requests fall
// back to JSON if the server does not support it.
func TestPreferEncodingFallsBackToJSON(t *testing.T) {
	green := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "prod"}, Data: map[string]string{"color": "green"}}
	inProtobuf, err := wire.Marshal(green, configMaps, wire.Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		has    bool // the server supports protobuf
		prefer wire.Encoding
		want   []string // the method and content type of each request
	}{
		{"a server with protobuf", true, wire.Protobuf, []string{
			"GET ", "POST " + protobufType, "POST " + protobufType, "PATCH " + wire.MediaTypeApply, "PUT " + protobufType,
		}},
		{"a server without protobuf", false, wire.Protobuf, []string{
			"GET ", "POST " + protobufType, "POST " + jsonType, "POST " + jsonType, "PATCH " + wire.MediaTypeApply, "PUT " + jsonType,
		}},
		{"JSON", true, wire.JSON, []string{
			"GET ", "POST " + jsonType, "POST " + jsonType, "PATCH " + wire.MediaTypeApply, "PUT " + jsonType,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !tt.has && r.Header.Get("Content-Type") == protobufType:
					testserver.Fail(w, 415, metav1.StatusReasonUnsupportedMediaType, "no protobuf here")
				case tt.has && strings.HasPrefix(r.Header.Get("Accept"), protobufType+","):
					testserver.Reply(w, 200, protobufType, inProtobuf)
				default:
					testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
				}
			})
			maps := client.Of[corev1.ConfigMap](s.Client(t), configMaps).In("prod").PreferEncoding(tt.prefer)
			blue := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "prod"}, Data: map[string]string{"color": "blue"}}
			for _, do := range []func() error{
				func() error { _, err := maps.Get(t.Context(), "web", nil); return err },
				func() error { _, err := maps.Create(t.Context(), blue, nil); return err },
				func() error { _, err := maps.Create(t.Context(), blue, nil); return err },
				func() error {
					_, err := maps.Apply(t.Context(), blue, &request.ApplyOptions{FieldManager: "me"})
					return err
				},
				func() error { _, err := maps.Status().Update(t.Context(), blue, nil); return err },
			} {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
			var got []string
			for _, a := range s.Asked() {
				got = append(got, a.Method+" "+a.Header.Get("Content-Type"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// lean has some fields of a kind, with protobuf tags.
type lean struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`

	Data map[string]string `json:"data" protobuf:"bytes,2,rep,name=data"`
}

type (
	embeddingLean struct{ lean } // without a tag
	leanBuiltin   lean
	leanCustom    lean
	leanUnknown   lean
)

func (*embeddingLean) KubeResource() core.Resource { return configMaps }
func (*leanBuiltin) KubeResource() core.Resource   { return configMaps }
func (*leanCustom) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Lean", Plural: "leans"}
}

func TestTypesOfBuiltinKindsWithProtobufTagsUseProtobuf(t *testing.T) {
	for _, tt := range []struct {
		of   reflect.Type
		want wire.Encoding
	}{
		{reflect.TypeFor[corev1.ConfigMap](), wire.Protobuf},
		{reflect.TypeFor[leanBuiltin](), wire.Protobuf},
		{reflect.TypeFor[embeddingLean](), wire.JSON},
		{reflect.TypeFor[leanCustom](), wire.JSON},
		{reflect.TypeFor[leanUnknown](), wire.JSON},
		{reflect.TypeFor[unstructured.Unstructured](), wire.JSON},
	} {
		if got := client.EncodingOf(tt.of); got != tt.want {
			t.Errorf("EncodingOf(%v) = %v, want %v", tt.of, got, tt.want)
		}
	}
}

func TestPreferredEncodingMustSuitTheType(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
	})
	c := s.Client(t)
	if _, err := client.Dynamic(c, configMaps).In("prod").PreferEncoding(wire.Protobuf).Get(t.Context(), "web", nil); err == nil ||
		!strings.Contains(err.Error(), "encoding: unstructured.Unstructured can't be decoded from protobuf") {
		t.Errorf("Get of an unstructured object in protobuf: %v", err)
	}
	if _, err := client.Namespaced[corev1.ConfigMap](c, "prod").PreferEncoding(wire.JSON).Get(t.Context(), "web", nil); err != nil {
		t.Error(err)
	}
	asks := s.Asked()
	if len(asks) != 1 || asks[0].Header.Get("Accept") != jsonType {
		t.Errorf("requests = %v, want one for JSON", asks)
	}
}

// TestObjectOfAnotherShardIsAnError checks that objects outside of the requested shard are not returned, whether or not
// the server supports shards.
func TestObjectOfAnotherShardIsAnError(t *testing.T) {
	whole, err := core.ShardOf(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	half, err := core.ShardOf(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if half.Has("u-1", "prod") {
		t.Fatal("u-1 is not in the first half")
	}
	const item = `{"metadata":{"name":"web","namespace":"prod","uid":"u-1"}}`
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("watch"):
			testserver.Reply(w, 200, jsonType, []byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}{"type":"ADDED","object":`+item+`}`))
		case strings.Contains(r.Header.Get("Accept"), "as=Table"):
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["web"],"object":`+item+`}]}`))
		default:
			kind := `"kind":"ConfigMapList","apiVersion":"v1"`
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
				kind = `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
			}
			testserver.Reply(w, 200, jsonType, []byte(`{`+kind+`,"metadata":{},"items":[`+item+`]}`))
		}
	})
	maps := client.Of[leanConfigMap](s.Client(t), configMaps).In("prod")
	verbs := map[string]func(shard *core.Shard) error{
		"list": func(shard *core.Shard) error {
			_, err := maps.List(t.Context(), &request.ListOptions{ShardSelector: shard.String()})
			return err
		},
		"metadata": func(shard *core.Shard) error {
			_, err := maps.Metadata().PreferEncoding(wire.JSON).List(t.Context(), &request.ListOptions{ShardSelector: shard.String()})
			return err
		},
		"table": func(shard *core.Shard) error {
			_, err := maps.Rows().List(t.Context(), &request.ListOptions{ShardSelector: shard.String()})
			return err
		},
		"watch": func(shard *core.Shard) error {
			for _, err := range maps.WatchOnce(t.Context(), &request.WatchOptions{ShardSelector: shard.String()}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	for name, do := range verbs {
		t.Run(name, func(t *testing.T) {
			if err := do(whole); err != nil {
				t.Errorf("error for all objects = %v", err)
			}
			if err := do(half); err == nil || !strings.Contains(err.Error(), "enable its feature gate ShardedListAndWatch") {
				t.Errorf("error for an object of another shard = %v", err)
			}
		})
	}
}
