// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"bytes"
	stdreflect "reflect"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

// taggedConfigMap is a ConfigMap with a field that has the protobuf tag of k8s.io/api.
type taggedConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`

	Data map[string]string `json:"data" protobuf:"bytes,2,rep,name=data"`
}

func (*taggedConfigMap) KubeResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

func TestStoreOfATypeWithProtobufTagsHoldsItsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.Protobuf)
		obj := configMap("prod/a", "first")
		obj.BinaryData = map[string][]byte{"other": []byte("not declared")}
		server.Put(obj)
		r := reflector.New(server, nil)
		lean := reflector.StoreOf[taggedConfigMap](r)
		runUntilEnd(t, r)
		packed := lean.State(ref("prod/a")).Packed()
		if packed.Encoding() != wire.Protobuf || bytes.Contains(packed.Bytes(), []byte("not declared")) {
			t.Errorf("the reflector holds %q in %s", packed.Bytes(), packed.Encoding())
		}
		want := func() {
			t.Helper()
			got, err := lean.Get(ref("prod/a"))
			if err != nil || got.Data["value"] != "first" || got.Labels["value"] != "first" || got.Kind != "ConfigMap" {
				t.Errorf("Get() = %v, %v", got, err)
			}
		}
		want()

		full := reflector.StoreOf[corev1.ConfigMap](r) // which needs another form
		if err := full.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		whole, err := full.Get(ref("prod/a"))
		if err != nil || string(whole.BinaryData["other"]) != "not declared" {
			t.Errorf("the store of the kind has %v, %v", whole, err)
		}
		want()
	})
}

func TestStateHasTheFieldsThatTheStoresRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		r := reflector.New(server, nil)
		metadata := reflector.StoreOf[metav1.PartialObjectMetadata](r)
		runUntilEnd(t, r)
		all := wire.ProjectionOf(stdreflect.TypeFor[corev1.ConfigMap]())
		some := wire.ProjectionOf(stdreflect.TypeFor[taggedConfigMap]())
		want := func(when string, covers ...*wire.Projection) {
			t.Helper()
			fields := metadata.State(ref("prod/a")).Fields()
			for _, p := range []*wire.Projection{all, some} {
				if got, want := fields.Covers(p), slices.Contains(covers, p); got != want {
					t.Errorf("%s: the fields %v cover %v: %v, want %v", when, fields, p, got, want)
				}
			}
		}
		want("metadata")
		if err := reflector.StoreOf[taggedConfigMap](r).Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("some fields", some)
		if err := reflector.StoreOf[corev1.ConfigMap](r).Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("all fields", some, all)
	})
}
