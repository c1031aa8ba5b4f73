// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// podJSON is the pod of the examples' server.
const podJSON = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"prod","resourceVersion":"7"},"status":{"phase":"Running"}}`

// serveExample starts a server with the pods web-0 and web-1, which accepts every write and stores nothing.
func serveExample(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name := path.Base(strings.TrimSuffix(r.URL.Path, "/status"))
	switch {
	case r.URL.Query().Has("watch"):
		fmt.Fprintf(w, `{"type":"ADDED","object":`+podJSON+`}{"type":"DELETED","object":`+podJSON+`}`, "web-0", "web-1")
	case r.Method == http.MethodGet && name == "pods":
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`+podJSON+","+podJSON+"]}", "web-0", "web-1")
	case r.Method == http.MethodGet && name == "n1":
		fmt.Fprint(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`)
	case r.Method == http.MethodGet && !strings.HasPrefix(name, "web-"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"kind":"Status","code":404,"reason":"NotFound","details":{"name":%q,"kind":"pods"}}`, name)
	case r.Method == http.MethodPost:
		fmt.Fprintf(w, podJSON, "web-2")
	default:
		fmt.Fprintf(w, podJSON, name)
	}
}

// connect returns a client of the examples' server. Programs call client.New(ctx, nil) instead, which reads the
// kubeconfig.
func connect() *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			serveExample(w, r)
			return w.Result(), nil
		}),
	})
	if err != nil {
		panic(err)
	}
	return c
}

func Example() {
	ctx := context.Background()
	pods := client.Namespaced[corev1.Pod](connect(), "prod")
	pod, err := pods.Get(ctx, "web-0", nil)
	fmt.Println(pod.Name, pod.Status.Phase, err)
	_, err = pods.Get(ctx, "db-0", nil)
	fmt.Println(errors.Is(err, core.ErrNotFound), err)
	// Output:
	// web-0 Running <nil>
	// true get pods prod/db-0: not found
}

func ExampleNew() {
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.example:6443", Namespace: "prod"},
		UserAgent: "janitor/1.0",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Server(), c.Namespace())
	// Output: https://cluster.example:6443 prod
}

func ExampleClient_Do() {
	ctx := context.Background()
	resp, err := connect().Do(ctx, &request.Request{Method: "GET", Path: "/api/v1/nodes/n1", Accept: "application/json"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: {"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}} <nil>
}

func ExampleNamespaced() {
	pods := client.Namespaced[corev1.Pod](connect(), "prod")
	fmt.Println(pods.Resource(), "in", pods.Namespace())
	// Output: pods in prod
}

func ExampleClusterWide() {
	node, err := client.ClusterWide[corev1.Node](connect()).Get(context.Background(), "n1", nil)
	fmt.Println(node.Kind, node.Name, err)
	// Output: Node n1 <nil>
}

// A lean struct declares only the fields that a program needs; its resource is given explicitly.
func ExampleOf() {
	type pod struct {
		metav1.TypeMeta   `json:""`
		metav1.ObjectMeta `json:"metadata"`
		Status            struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	res := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	got, err := client.Of[pod](connect(), res).In("prod").Get(context.Background(), "web-0", nil)
	fmt.Println(got.Name, got.Status.Phase, err)
	// Output: web-0 Running <nil>
}

// Package discovery finds the resource if its name is user input.
func ExampleDynamic() {
	res := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	got, err := client.Dynamic(connect(), res).In("prod").Get(context.Background(), "web-0", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	phase, _, err := unstructured.NestedString(got.Object, "status", "phase")
	fmt.Println(got.GetName(), phase, err)
	// Output: web-0 Running <nil>
}

func ExampleAPI_In() {
	everywhere := client.ClusterWide[corev1.Pod](connect())
	pod, err := everywhere.In("prod").Get(context.Background(), "web-0", nil)
	fmt.Println(pod.Name, err)
	// Output: web-0 <nil>
}

func ExampleAPI_Get() {
	pod, err := client.Namespaced[corev1.Pod](connect(), "prod").Get(context.Background(), "web-0", nil)
	fmt.Println(pod.Name, pod.ResourceVersion, err)
	// Output: web-0 7 <nil>
}

func ExampleAPI_List() {
	page, err := client.Namespaced[corev1.Pod](connect(), "prod").List(context.Background(), &request.ListOptions{Limit: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Items), "pods at version", page.ResourceVersion)
	// Output: 2 pods at version 9
}

func ExampleAPI_All() {
	pods := client.Namespaced[corev1.Pod](connect(), "prod")
	for pod, err := range pods.All(context.Background(), &request.ListOptions{LabelSelector: "app=web"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Name)
	}
	// Output:
	// web-0
	// web-1
}

func ExampleAPI_WatchOnce() {
	pods := client.Namespaced[corev1.Pod](connect(), "prod")
	for ev, err := range pods.WatchOnce(context.Background(), &request.WatchOptions{ResourceVersion: "9"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Type, ev.Object.Name)
	}
	// Output:
	// ADDED web-0
	// DELETED web-1
}

func ExampleAPI_Create() {
	pod, err := client.Namespaced[corev1.Pod](connect(), "prod").Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}, nil)
	fmt.Println(pod.Name, err)
	// Output: web-2 <nil>
}

func ExampleAPI_Update() {
	ctx := context.Background()
	pods := client.Namespaced[corev1.Pod](connect(), "prod")
	pod, err := pods.Get(ctx, "web-0", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod.Labels = map[string]string{"tier": "front"}
	_, err = pods.Update(ctx, pod, nil)
	fmt.Println(errors.Is(err, core.ErrConflict), err) // after a conflict, read and change the object again
	// Output: false <nil>
}

func ExampleAPI_Patch() {
	patch := request.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": "front"}}})
	pod, err := client.Namespaced[corev1.Pod](connect(), "prod").Patch(context.Background(), "web-0", patch, nil)
	fmt.Println(pod.Name, err)
	// Output: web-0 <nil>
}

func ExampleAPI_Apply() {
	desired := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"tier": "front"}}}
	pod, err := client.Namespaced[corev1.Pod](connect(), "prod").Apply(context.Background(), desired,
		&request.ApplyOptions{FieldManager: "labeller"})
	fmt.Println(pod.Name, err)
	// Output: web-0 <nil>
}

func ExampleAPI_Delete() {
	err := client.Namespaced[corev1.Pod](connect(), "prod").Delete(context.Background(), "web-0",
		&request.DeleteOptions{Propagation: metav1.DeletePropagationForeground})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAPI_DeleteCollection() {
	err := client.Namespaced[corev1.Pod](connect(), "prod").DeleteCollection(context.Background(), nil,
		&request.ListOptions{LabelSelector: "app=web"})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAPI_Status() {
	status := client.Namespaced[corev1.Pod](connect(), "prod").Status()
	pod, err := status.Get(context.Background(), "web-0", nil)
	fmt.Println(pod.Status.Phase, err)
	// Output: Running <nil>
}

func ExampleSubresource_Update() {
	ctx := context.Background()
	status := client.Namespaced[corev1.Pod](connect(), "prod").Status()
	pod, err := status.Get(ctx, "web-0", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod.Status.Message = "checked"
	_, err = status.Update(ctx, pod, nil)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleSubresource_Patch() {
	patch := request.MergePatch(map[string]any{"status": map[string]any{"message": "checked"}})
	_, err := client.Namespaced[corev1.Pod](connect(), "prod").Status().Patch(context.Background(), "web-0", patch, nil)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleSubresource_Apply() {
	desired := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}, Status: corev1.PodStatus{Message: "checked"}}
	_, err := client.Namespaced[corev1.Pod](connect(), "prod").Status().Apply(context.Background(), desired,
		&request.ApplyOptions{FieldManager: "checker", Force: true})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleFeed_List() {
	feed := client.Namespaced[corev1.Pod](connect(), "prod").Feed()
	meta, err := feed.List(context.Background(), nil, func(p wire.Packed) error {
		head, err := p.Head()
		fmt.Println(head.Ref, p.Encoding())
		return err
	})
	fmt.Println(meta.ResourceVersion, err)
	// Output:
	// prod/web-0 json
	// prod/web-1 json
	// 9 <nil>
}

func ExampleFeed_Watch() {
	feed := client.Namespaced[corev1.Pod](connect(), "prod").Feed()
	events, err := feed.Watch(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range events {
		if err != nil {
			fmt.Println(err)
			return
		}
		head, _ := ev.Object.Head()
		fmt.Println(ev.Type, head.Ref)
	}
	// Output:
	// ADDED prod/web-0
	// DELETED prod/web-1
}

func ExampleWithWriteObserver() {
	ctx := client.WithWriteObserver(context.Background(), func(_ context.Context, w client.Write) {
		fmt.Println("wrote", w.Resource, core.RefOf(w.Object), "version", w.Object.GetResourceVersion())
	})
	patch := request.MergePatch([]byte(`{"metadata":{"labels":{"tier":"front"}}}`))
	_, err := client.Namespaced[corev1.Pod](connect(), "prod").Patch(ctx, "web-0", patch, nil)
	fmt.Println(err)
	// Output:
	// wrote pods prod/web-0 version 7
	// <nil>
}
