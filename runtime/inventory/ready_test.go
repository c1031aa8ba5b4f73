// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
	"github.com/kube-go/sdk/runtime/wait"
)

// conditionedWidget is a Widget with conditions, but without an observedGeneration.
type conditionedWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

// widgetWithMap is a Widget that declares its conditions by their types.
type widgetWithMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions map[string]string `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

func (*conditionedWidget) KubeResource() core.Resource { return widgetResource() }
func (*widgetWithMap) KubeResource() core.Resource     { return widgetResource() }

// conditionedService is a Service, a kind that is ready without conditions.
type conditionedService conditionedWidget

func (*conditionedService) KubeResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Service", Plural: "services", Namespaced: true}
}

// TestAWaveWaitsForTheFirstConditionOfATypeThatHasConditions checks that the Go type of a declared object decides
// whether an object without conditions is ready.
func TestAWaveWaitsForTheFirstConditionOfATypeThatHasConditions(t *testing.T) {
	named := metav1.ObjectMeta{Name: "w"}
	with := func(status, condition string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": condition, "status": status}}}
	}
	const none = "Widget prod/w is not ready: it has no conditions yet"
	for _, tt := range []struct {
		name   string
		object core.Object
		ready  wait.Condition[unstructured.Unstructured]
		status map[string]any
		want   string // what the pass waits for
	}{
		{name: "no conditions", object: &conditionedWidget{ObjectMeta: named}, want: none},
		{name: "conditions by type", object: &widgetWithMap{ObjectMeta: named}, want: none},
		{
			name: "a false condition", object: &conditionedWidget{ObjectMeta: named}, status: with("False", "Ready"),
			want: "Widget prod/w is not ready: condition Ready is False",
		},
		{name: "a true condition", object: &conditionedWidget{ObjectMeta: named}, status: with("True", "Ready")},
		{name: "an unusual condition", object: &conditionedWidget{ObjectMeta: named}, status: with("False", "Painted")},
		{
			name: "an observed generation", object: &conditionedWidget{ObjectMeta: named},
			status: map[string]any{"observedGeneration": int64(1)},
		},
		{
			name: "a condition of the declaration", object: &conditionedWidget{ObjectMeta: named},
			ready: wait.Ready[unstructured.Unstructured],
		},
		{name: "a type without conditions", object: &leanWidget{ObjectMeta: named}},
		{name: "no type", object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		}}},
		{name: "a kind that is ready without conditions", object: &conditionedService{ObjectMeta: named}},
		{name: "a type of Kubernetes", object: &corev1.Service{ObjectMeta: named}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := fakeapi.New(widgetResource(), resourceOf[corev1.Service](t), resourceOf[corev1.ConfigMap](t))
			applier, items := inventory.New(server.Client(), manager, nil), []machine.Item(nil)
			pass := func(all ...inventory.Declaration) string {
				t.Helper()
				p := applier.Begin(site(), items, ignore)
				waiting, err := p.Apply(t.Context(), all...)
				if err != nil {
					t.Fatal(err)
				}
				items = p.Items()
				return waiting
			}
			declared := inventory.Declaration{Object: tt.object, Ready: tt.ready}
			known := &leanWidget{ObjectMeta: metav1.ObjectMeta{Name: "known"}} // the resource of its kind
			pass(inventory.Declaration{Object: known}, declared)
			if tt.status != nil {
				u, err := client.Dynamic(server.Client(), widgetResource()).In("prod").Get(t.Context(), "w", nil)
				if err != nil {
					t.Fatal(err)
				}
				u.Object["status"] = tt.status
				server.Put(widgetResource(), u)
			}
			for range 2 { // the second time, the applier remembers it
				if got := pass(declared, inventory.Declaration{Object: page("next"), Wave: 1}); got != tt.want {
					t.Errorf("the pass waits for %q, want %q", got, tt.want)
				}
			}
		})
	}
}
