// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func kindOf(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// kindListBody returns a list with a kind and one item, which has the kind item if that is set.
func kindListBody(t testing.TB, encoding wire.Encoding, list, item schema.GroupVersionKind) []byte {
	t.Helper()
	if encoding == wire.Protobuf {
		pods := corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
		data, err := pods.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		body, err := envelope(list.GroupVersion().String(), list.Kind, data)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	object := map[string]any{"metadata": map[string]any{"name": "a"}}
	if !item.Empty() {
		object["kind"], object["apiVersion"] = item.Kind, item.GroupVersion().String()
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"kind": list.Kind, "apiVersion": list.GroupVersion().String(), "metadata": map[string]any{}, "items": []any{object},
	}}
	body, err := wire.Pack(u, encoding)
	if err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func TestReadListRejectsOtherKinds(t *testing.T) {
	none := schema.GroupVersionKind{}
	pod, widget := kindOf("v1", "Pod"), kindOf("example.com/v1", "Widget")
	ingress, gateway := kindOf("networking.k8s.io/v1", "Ingress"), kindOf("gateway.networking.k8s.io/v1", "Gateway")
	for _, tt := range []struct {
		name       string
		want       schema.GroupVersionKind
		list, item schema.GroupVersionKind
		text       string // in the error; empty: no error
		items      string // "named": skips encodings whose items have no kind
	}{
		{name: "the kind itself", want: pod, list: kindOf("v1", "PodList")},
		{name: "any kind", list: kindOf("v1", "SecretList")},
		{name: "another kind", want: pod, list: kindOf("v1", "SecretList"), text: `"SecretList"`},
		{name: "another version", want: pod, list: kindOf("v2", "PodList"), text: `of "v2" instead of PodList of v1`},
		{name: "another group", want: pod, list: kindOf("x.k8s.io/v1", "PodList"), text: `of "x.k8s.io/v1" instead of`},
		{name: "metadata of the kind", want: pod, list: kindOf("meta.k8s.io/v1", "PartialObjectMetadataList"), text: `instead of PodList of v1`},
		{name: "a list of anything", want: pod, list: kindOf("v1", "List"), text: `"List"`},
		{name: "a custom resource", want: widget, list: kindOf("example.com/v1", "WidgetList"), item: widget},
		{name: "an unusual list kind", want: widget, list: kindOf("example.com/v1", "AllWidgetsList"), item: widget, items: "named"},
		{
			name: "an unusual list kind with other items", want: widget, list: kindOf("example.com/v1", "GadgetList"), item: kindOf("example.com/v1", "Gadget"),
			text: `"Gadget" of "example.com/v1" instead of Widget of example.com/v1`, items: "named",
		},
		{
			name: "an unusual list kind with items without a kind", want: widget, list: kindOf("example.com/v1", "GadgetList"), item: none,
			text: `"GadgetList" of "example.com/v1" instead of WidgetList of example.com/v1`, items: "named",
		},
		{name: "a list kind without the suffix", want: widget, list: kindOf("example.com/v1", "Widgets"), item: widget, items: "named"},
		{
			name: "a list kind without the suffix with items without a kind", want: widget, list: kindOf("example.com/v1", "Widgets"), item: none,
			text: `"Widgets" of "example.com/v1" instead of WidgetList of example.com/v1`, items: "named",
		},
		{name: "a custom resource of Kubernetes", want: gateway, list: kindOf("gateway.networking.k8s.io/v1", "AllGateways"), item: gateway, items: "named"},
		{name: "a built-in kind", want: ingress, list: kindOf("networking.k8s.io/v1", "IngressList")},
		{
			name: "another built-in kind", want: ingress, list: kindOf("networking.k8s.io/v1", "NetworkPolicyList"),
			text: `"NetworkPolicyList" of "networking.k8s.io/v1" instead of IngressList of networking.k8s.io/v1`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for encoding := range allEncodings() {
				if encoding == wire.Protobuf && tt.items == "named" {
					continue
				}
				body := kindListBody(t, encoding, tt.list, tt.item)
				o := &wire.ReadOptions{Kind: tt.want}
				_, err := wire.ReadList(bytes.NewReader(body), encoding.MediaType(), o, func(wire.Packed) error { return nil })
				kind, ok := errors.AsType[*wire.KindError](err)
				if ok != (tt.text != "") || ok && !strings.Contains(kind.Error(), tt.text) || !ok && err != nil {
					t.Errorf("%s: ReadList = %v, want %q", encoding, err, tt.text)
				}
			}
		})
	}
}

func TestReadListRejectsAnotherKindBeforeTheItems(t *testing.T) {
	const body = `{"kind":"NetworkPolicyList","apiVersion":"networking.k8s.io/v1","items":[{"metadata":{"name":"a"}}]}`
	o := &wire.ReadOptions{Kind: kindOf("networking.k8s.io/v1", "Ingress")}
	items := 0
	_, err := wire.ReadList(strings.NewReader(body), "", o, func(wire.Packed) error {
		items++
		return nil
	})
	if _, ok := errors.AsType[*wire.KindError](err); !ok || items > 0 {
		t.Errorf("ReadList() = %v after %d items, want a KindError before the first", err, items)
	}
}

func TestReadListRejectsObjectsThatAreNotLists(t *testing.T) {
	for _, want := range []schema.GroupVersionKind{{}, kindOf("v1", "Pod"), kindOf("example.com/v1", "Widget")} {
		for _, body := range []string{
			`{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			`{"kind":"Status","apiVersion":"v1","items":[]}`,
			`{"kind":"Widget","apiVersion":"example.com/v1","items":[]}`,
			`{"kind":"Widgets","apiVersion":"example.com/v1"}`,
			`{"kind":"","items":[]}`,
			`{"kind":null,"items":[]}`,
		} {
			o := &wire.ReadOptions{Kind: want}
			_, err := wire.ReadList(strings.NewReader(body), "", o, func(wire.Packed) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "is not a list") {
				t.Errorf("ReadList(%s) = %v with the kind %q, want an error", body, err, want.Kind)
			}
		}
	}
}

func TestEventsRejectsOtherKinds(t *testing.T) {
	for _, tt := range []struct {
		name string
		want schema.GroupVersionKind
		ok   bool
	}{
		{"the kind itself", kindOf("v1", "Pod"), true},
		{"any kind", schema.GroupVersionKind{}, true},
		{"another kind", kindOf("v1", "Secret"), false},
		{"another version", kindOf("v2", "Pod"), false},
		{"another group", kindOf("x.k8s.io/v1", "Pod"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for encoding := range allEncodings() {
				for _, event := range someChanges() {
					body := podEvent(t, encoding, event)
					var last error
					for _, err := range wire.Events(bytes.NewReader(body), encoding.MediaType(), &wire.ReadOptions{Kind: tt.want}) {
						last = err
					}
					want := fmt.Sprintf(`watch event: the server sent "Pod" of "v1" instead of %s of %s`, tt.want.Kind, tt.want.GroupVersion())
					if tt.ok && last != nil || !tt.ok && (last == nil || last.Error() != want) {
						t.Errorf("%s %s: Events = %v, want %q: %t", encoding, event.Type, last, want, !tt.ok)
					}
				}
			}
		})
	}
	status := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}`
	for _, err := range wire.Events(strings.NewReader(status), "", &wire.ReadOptions{Kind: kindOf("v1", "Pod")}) {
		if !errors.Is(err, core.ErrExpired) {
			t.Errorf("an ERROR event = %v, want ErrExpired", err)
		}
	}
}
