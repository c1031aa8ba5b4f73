// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// answering returns a client of a server that prints each request with its body, and gives these answers in turn.
func answering(answers ...string) *client.Client {
	next := 0
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			var body json.RawMessage
			if r.Body != nil {
				_ = json.NewDecoder(r.Body).Decode(&body)
				_ = r.Body.Close()
			}
			fmt.Fprintln(os.Stdout, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json")
			answer := answers[min(next, len(answers)-1)]
			var status struct{ Code int }
			if _ = json.Unmarshal([]byte(answer), &status); status.Code != 0 {
				w.WriteHeader(status.Code)
			}
			next++
			fmt.Fprint(w, answer)
			return w.Result(), nil
		}),
	})
	if err != nil {
		panic(err)
	}
	return c
}

const (
	settings   = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"prod","resourceVersion":"7"},"data":{"color":"green"}}`
	noSettings = `{"kind":"Status","code":404,"reason":"NotFound","details":{"name":"settings","kind":"configmaps"}}`
	ok         = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
)

func ExampleAPI_GetOrNil() {
	cm, err := client.Namespaced[corev1.ConfigMap](answering(noSettings), "prod").GetOrNil(context.Background(), "settings", nil)
	fmt.Println(cm == nil, err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// true <nil>
}

func ExampleAPI_Modify() {
	_, err := client.Namespaced[corev1.ConfigMap](answering(settings), "prod").Modify(context.Background(), "settings",
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
	status := client.Namespaced[appsv1.Deployment](answering(deployment), "prod").Status()
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
	_, err := client.Namespaced[corev1.ConfigMap](answering(noSettings, settings), "prod").CreateOrUpdate(context.Background(), "settings",
		func(cm *corev1.ConfigMap) error {
			cm.Data = map[string]string{"color": "green"}
			return nil
		}, nil)
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// POST /api/v1/namespaces/prod/configmaps
	// <nil>
}

func ExampleAPI_Entry() {
	ctx := context.Background()
	entry, err := client.Namespaced[corev1.ConfigMap](answering(settings), "prod").Entry(ctx, "settings", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	cm := entry.OrInsert(&corev1.ConfigMap{Data: map[string]string{}})
	fmt.Println(entry.Exists(), cm.Data)
	_, err = entry.Commit(ctx, nil) // nothing was changed, so nothing is sent
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// true map[color:green]
	// <nil>
}

func ExampleAPI_DeleteAndWait() {
	gone := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`
	err := client.Namespaced[corev1.ConfigMap](answering(settings, gone), "prod").DeleteAndWait(context.Background(), "settings", nil)
	fmt.Println(err)
	// Output:
	// DELETE /api/v1/namespaces/prod/configmaps/settings
	// GET /api/v1/namespaces/prod/configmaps
	// <nil>
}

func ExampleAPI_Metadata() {
	c := answering(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"settings","labels":{"app":"web"}}}`)
	m, err := client.Namespaced[corev1.ConfigMap](c, "prod").Metadata().Get(context.Background(), "settings", nil)
	fmt.Println(m.Kind, m.Labels, err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps/settings
	// ConfigMap map[app:web] <nil>
}

func ExampleAPI_Table() {
	c := answering(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"},{"name":"Data"}],` +
		`"rows":[{"cells":["settings",1]}]}`)
	table, err := client.Namespaced[corev1.ConfigMap](c, "prod").Table(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, column := range table.ColumnDefinitions {
		fmt.Println(column.Name, "=", table.Rows[0].Cells[i])
	}
	// Output:
	// GET /api/v1/namespaces/prod/configmaps
	// Name = settings
	// Data = 1
}

func ExampleAPI_Scale() {
	c := answering(`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","resourceVersion":"7"},"spec":{"replicas":1}}`)
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
	namespaces := client.ClusterWide[corev1.Namespace](answering(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"old"}}`))
	patch := request.MergePatch([]byte(`{"spec":{"finalizers":[]}}`))
	_, err := namespaces.Subresource("finalize").Patch(context.Background(), "old", patch, nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/namespaces/old/finalize {"spec":{"finalizers":[]}}
	// <nil>
}

func ExampleSubresourceOf() {
	pods := client.Namespaced[corev1.Pod](answering(ok), "prod")
	bindings := client.SubresourceOf[unstructured.Unstructured](pods, "binding", schema.GroupVersionKind{Version: "v1", Kind: "Binding"})
	binding := &unstructured.Unstructured{Object: map[string]any{"target": map[string]any{"kind": "Node", "name": "n1"}}}
	_, err := bindings.Create(context.Background(), "web-0", binding, nil)
	fmt.Println(err)
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/binding {"apiVersion":"v1","kind":"Binding","target":{"kind":"Node","name":"n1"}}
	// <nil>
}

func ExampleAPI_Evict() {
	c := answering(`{"kind":"Status","apiVersion":"v1","code":429,"reason":"TooManyRequests","details":{"causes":[` +
		`{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}`)
	err := client.Namespaced[corev1.Pod](c, "prod").Evict(context.Background(), "web-0", &request.EvictOptions{GracePeriod: new(time.Minute)})
	fmt.Println(err)
	budget, ok := errors.AsType[*client.BudgetError](err)
	fmt.Println(ok, budget.Budget)
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/eviction {"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web-0","namespace":"prod"},"deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":60}}
	// evict pods prod/web-0: disruption budget web: needs 2 healthy pods and has 2 currently
	// true web
}

func ExampleAPI_Restart() {
	_, err := client.Namespaced[corev1.Pod](answering(ok), "prod").Restart(context.Background(), "web-0", nil)
	fmt.Println(err)
	// Output: restart pods prod/web-0: request not sent: kind: pods can't be restarted; only deployments.apps, statefulsets.apps, daemonsets.apps can
}

func ExampleAPI_Cordon() {
	_, err := client.ClusterWide[corev1.Node](answering(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`)).Cordon(context.Background(), "n1", nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}
	// <nil>
}

func ExampleAPI_Uncordon() {
	_, err := client.ClusterWide[corev1.Node](answering(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`)).Uncordon(context.Background(), "n1", nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":null}}
	// <nil>
}

const signing = `{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{"name":"web","resourceVersion":"7"}}`

func ExampleAPI_Approve() {
	csrs := client.ClusterWide[certificatesv1.CertificateSigningRequest](answering(signing))
	_, err := csrs.Approve(context.Background(), "web", &client.ApprovalOptions{Message: "it is ours"})
	fmt.Println(err)
	// Output:
	// GET /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval
	// PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval {"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"message":"it is ours","reason":"Approved","status":"True","type":"Approved"}]}}
	// <nil>
}

func ExampleAPI_Deny() {
	csrs := client.ClusterWide[certificatesv1.CertificateSigningRequest](answering(signing))
	_, err := csrs.Deny(context.Background(), "web", nil)
	fmt.Println(err)
	// Output:
	// GET /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval
	// PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval {"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"message":"","reason":"Denied","status":"True","type":"Denied"}]}}
	// <nil>
}

func ExampleAPI_Token() {
	c := answering(`{"kind":"TokenRequest","status":{"token":"e30.c2VjcmV0","expirationTimestamp":"2026-01-01T00:00:00Z"}}`)
	token, err := client.Namespaced[corev1.ServiceAccount](c, "prod").Token(context.Background(), "robot", &request.TokenOptions{Audiences: []string{"vault"}})
	fmt.Println(len(string(token.Token)), token.Expires, err)
	// Output:
	// POST /api/v1/namespaces/prod/serviceaccounts/robot/token {"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"audiences":["vault"]}}
	// 12 2026-01-01 00:00:00 +0000 UTC <nil>
}

func ExampleAPI_AddEphemeralContainer() {
	c := answering(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}`)
	tools := map[string]any{"name": "tools", "image": "busybox", "stdin": true, "tty": true, "targetContainerName": "main"}
	_, err := client.Namespaced[corev1.Pod](c, "prod").AddEphemeralContainer(context.Background(), "web-0", tools, nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/namespaces/prod/pods/web-0/ephemeralcontainers {"spec":{"ephemeralContainers":[{"image":"busybox","name":"tools","stdin":true,"targetContainerName":"main","tty":true}]}}
	// <nil>
}

func ExampleAPI_Resize() {
	c := answering(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}`)
	more := map[string]any{"requests": map[string]string{"cpu": "2"}}
	_, err := client.Namespaced[corev1.Pod](c, "prod").Resize(context.Background(), "web-0", "main", more, nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/namespaces/prod/pods/web-0/resize {"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2"}}}]}}
	// <nil>
}

func ExampleAPI_OnItemError() {
	c := answering(`{"kind":"ConfigMapList","apiVersion":"v1","items":[` + settings + `,{"metadata":{"name":"broken","namespace":"prod"},"data":7}]}`)
	maps := client.Namespaced[corev1.ConfigMap](c, "prod").OnItemError(func(e *wire.ItemError) { fmt.Println("left out", e.Head.Ref) })
	list, err := maps.List(context.Background(), nil)
	fmt.Println(len(list.Items), err)
	// Output:
	// GET /api/v1/namespaces/prod/configmaps
	// left out prod/broken
	// 1 <nil>
}
