// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

const (
	settings   = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"prod","resourceVersion":"7"},"data":{"color":"green"}}`
	noSettings = `{"kind":"Status","code":404,"reason":"NotFound","details":{"name":"settings","kind":"configmaps"}}`
	ok         = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
)

func ExampleAPI_GetOrNil() {
	cm, err := client.Namespaced[corev1.ConfigMap](testserver.Answering(noSettings), "prod").GetOrNil(context.Background(), "settings", nil)
	fmt.Println(cm == nil, err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// true <nil>
}

func ExampleAPI_Modify() {
	_, err := client.Namespaced[corev1.ConfigMap](testserver.Answering(settings), "prod").Modify(context.Background(), "settings",
		func(cm *corev1.ConfigMap) error {
			cm.Data["color"] = "blue"
			return nil
		}, nil)
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// PATCH /api/v1/namespaces/prod/configmaps/settings {"data":{"color":"blue"},"metadata":{"resourceVersion":"7"}}
	// <nil>
}

func ExampleSubresource_Modify() {
	deployment := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"prod","resourceVersion":"7"}}`
	status := client.Namespaced[appsv1.Deployment](testserver.Answering(deployment), "prod").Status()
	_, err := status.Modify(context.Background(), "web", func(d *appsv1.Deployment) error {
		d.Status.ObservedGeneration = 3
		return nil
	}, nil)
	fmt.Println(err)
	// Output:
	// GET /apis/apps/v1/namespaces/prod/deployments/web/status
	// PATCH /apis/apps/v1/namespaces/prod/deployments/web/status {"metadata":{"resourceVersion":"7"},"status":{"observedGeneration":3}}
	// <nil>
}

func ExampleAPI_CreateOrUpdate() {
	_, err := client.Namespaced[corev1.ConfigMap](testserver.Answering(noSettings, settings), "prod").CreateOrUpdate(context.Background(), "settings",
		func(cm *corev1.ConfigMap) error {
			cm.Data = map[string]string{"color": "green"}
			return nil
		}, nil)
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// POST /api/v1/namespaces/prod/configmaps {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"prod"},"data":{"color":"green"}}
	// <nil>
}

func ExampleAPI_Entry() {
	ctx := context.Background()
	entry, err := client.Namespaced[corev1.ConfigMap](testserver.Answering(settings), "prod").Entry(ctx, "settings", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	cm := entry.OrInsert(&corev1.ConfigMap{Data: map[string]string{}})
	fmt.Println(entry.Exists(), cm.Data)
	_, err = entry.Commit(ctx, nil) // there is no change, so no request is sent
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// true map[color:green]
	// <nil>
}

func ExampleAPI_Metadata() {
	c := testserver.Answering(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"settings","labels":{"app":"web"}}}`)
	m, err := client.Namespaced[corev1.ConfigMap](c, "prod").Metadata().Get(context.Background(), "settings", nil)
	fmt.Println(m.Kind, m.Labels, err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// ConfigMap map[app:web] <nil>
}

func ExampleAPI_Rows() {
	c := testserver.Answering(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"},{"name":"Data"}],` +
		`"rows":[{"cells":["settings",1],"object":{"metadata":{"name":"settings"}}}]}`)
	row, err := client.Namespaced[corev1.ConfigMap](c, "prod").Rows().Get(context.Background(), "settings", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, column := range row.Columns {
		fmt.Println(column.Name, "=", row.Cells[i])
	}
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// Name = settings
	// Data = 1
}

func ExampleAPI_Scale() {
	c := testserver.Answering(`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","resourceVersion":"7"},"spec":{"replicas":1}}`)
	_, err := client.Namespaced[appsv1.Deployment](c, "prod").Scale().Modify(context.Background(), "web", func(s *core.Scale) error {
		s.Spec.Replicas = 3
		return nil
	}, nil)
	fmt.Println(err)
	// Output:
	// GET /apis/apps/v1/namespaces/prod/deployments/web/scale
	// PATCH /apis/apps/v1/namespaces/prod/deployments/web/scale {"metadata":{"resourceVersion":"7"},"spec":{"replicas":3}}
	// <nil>
}

func ExampleAPI_Subresource() {
	namespaces := client.ClusterWide[corev1.Namespace](testserver.Answering(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"old"}}`))
	patch := request.MergePatch([]byte(`{"spec":{"finalizers":[]}}`))
	_, err := namespaces.Subresource("finalize").Patch(context.Background(), "old", patch, nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/namespaces/old/finalize {"spec":{"finalizers":[]}}
	// <nil>
}

func ExampleSubresource_Get() {
	c := testserver.Answering(`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"},"spec":{"replicas":3}}`)
	scale, err := client.Namespaced[appsv1.Deployment](c, "prod").Scale().Get(context.Background(), "web", nil)
	fmt.Println(scale.Spec.Replicas, err)
	// Output:
	// GET /apis/apps/v1/namespaces/prod/deployments/web/scale
	// 3 <nil>
}

func ExampleSubresource_Create() {
	pods := client.Namespaced[corev1.Pod](testserver.Answering(ok), "prod")
	kind := schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}
	evictions := client.SubresourceOf[unstructured.Unstructured](pods, "eviction", kind)

	eviction := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web-0"}}}
	created, err := evictions.Create(context.Background(), "web-0", eviction, nil)
	fmt.Println(created == nil, err) // the response is only a success
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/eviction {"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web-0"}}
	// true <nil>
}

func ExampleSubresourceOf() {
	pods := client.Namespaced[corev1.Pod](testserver.Answering(ok), "prod")
	bindings := client.SubresourceOf[unstructured.Unstructured](pods, "binding", schema.GroupVersionKind{Version: "v1", Kind: "Binding"})
	binding := &unstructured.Unstructured{Object: map[string]any{"target": map[string]any{"kind": "Node", "name": "n1"}}}
	_, err := bindings.Create(context.Background(), "web-0", binding, nil)
	fmt.Println(err)
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/binding {"apiVersion":"v1","kind":"Binding","target":{"kind":"Node","name":"n1"}}
	// <nil>
}

func ExampleAPI_OnItemError() {
	c := testserver.Answering(`{"kind":"ConfigMapList","apiVersion":"v1","items":[` + settings + `,{"metadata":{"name":"broken","namespace":"prod"},"data":7}]}`)
	maps := client.Namespaced[corev1.ConfigMap](c, "prod").OnItemError(func(e *wire.ItemError) { fmt.Println("skipped", e.Head.Ref) })
	list, err := maps.List(context.Background(), nil)
	fmt.Println(len(list.Items), err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps
	// skipped prod/broken
	// 1 <nil>
}
