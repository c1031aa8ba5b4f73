// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

const (
	web  = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod","uid":"1","resourceVersion":"7"},"status":{"phase":"Running"}}`
	mark = `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}`
	core = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"pods",` +
		`"responseKind":{"kind":"Pod"},"scope":"Namespaced","singularResource":"pod","shortNames":["po"],"verbs":["get"]}]}]}]}`
	others = `{"kind":"APIGroupDiscoveryList","items":[]}`
)

// connect starts the server of the examples, which has one pod, and returns a client of it. Programs call
// kube.NewClient(ctx, nil) instead, which finds the kubeconfig.
func connect() (c *kube.Client, stop func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case r.URL.Query().Has("watch"):
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}{"type":"BOOKMARK","object":%s}`, web, mark)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case path == "/api":
			fmt.Fprint(w, core)
		case path == "/apis":
			fmt.Fprint(w, others)
		case path == "/api/v1/namespaces/prod/pods/web-0":
			fmt.Fprint(w, web)
		case path == "/api/v1/pods" || path == "/api/v1/namespaces/prod/pods":
			fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[%s]}`, web)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","code":404,"reason":"NotFound","details":{"name":"db-0","kind":"pods"}}`)
		}
	}))
	c, err := kube.NewClient(context.Background(), &kube.ClientOptions{Config: &kube.Config{Server: s.URL}})
	if err != nil {
		panic(err)
	}
	return c, s.Close
}

func Example() {
	ctx := context.Background()
	c, stop := connect() // instead of kube.NewClient(ctx, nil)
	defer stop()

	pods := kube.Namespaced[corev1.Pod](c, "prod")
	pod, err := pods.Get(ctx, "web-0", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Name, "is", pod.Status.Phase)

	_, err = pods.Get(ctx, "db-0", nil)
	fmt.Println(err, errors.Is(err, kube.ErrNotFound))
	// Output:
	// web-0 is Running
	// get pods prod/db-0: not found true
}

func ExampleClusterWide() {
	c, stop := connect()
	defer stop()
	for pod, err := range kube.ClusterWide[corev1.Pod](c).All(context.Background(), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Namespace, pod.Name)
	}
	// Output: prod web-0
}

func ExampleDiscover() {
	ctx := context.Background()
	c, stop := connect()
	defer stop()
	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := disc.Resolve("po")
	if err != nil {
		fmt.Println(err)
		return
	}
	obj, err := kube.Dynamic(c, res).In("prod").Get(ctx, "web-0", nil)
	fmt.Println(obj.GetKind(), obj.GetName(), err)
	// Output: Pod web-0 <nil>
}

func ExampleAwait() {
	c, stop := connect()
	defer stop()
	pods := kube.Namespaced[corev1.Pod](c, "prod")
	pod, err := kube.Await(context.Background(), pods, "web-0", func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("phase is %s", pod.Status.Phase)
		}
		return nil
	}, nil)
	fmt.Println(pod.Name, err)
	// Output: web-0 <nil>
}

func ExampleNewCache() {
	ctx, cancel := context.WithCancel(context.Background())
	c, stop := connect()
	defer stop()

	view := kube.ViewOf[corev1.Pod](kube.NewCache(c, nil), &kube.Selection{Namespace: "prod"})
	var running sync.WaitGroup
	running.Go(func() { _ = view.Run(ctx) })
	defer running.Wait()
	defer cancel()

	if err := view.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	pod, err := view.Store().Get(kube.ObjectRef{Namespace: "prod", Name: "web-0"})
	fmt.Println(pod.Name, err)
	// Output: web-0 <nil>
}

func ExampleNewController() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, stop := connect()
	defer stop()

	ctl := kube.NewController(kube.For[corev1.Pod](kube.NewCache(c, nil)), nil)
	err := ctl.Run(ctx, func(_ context.Context, pod *corev1.Pod) (kube.Action, error) {
		fmt.Println("reconcile", pod.Namespace, pod.Name)
		cancel() // enough for an example
		return kube.AwaitChange(), nil
	})
	fmt.Println(err)
	// Output:
	// reconcile prod web-0
	// context canceled
}

func ExampleAdmissionHandler() {
	handler := kube.AdmissionHandler(func(_ context.Context, req *kube.AdmissionRequest) *kube.AdmissionResponse {
		if req.Ref.Namespace == "kube-system" {
			return kube.DenyAdmission("ask the platform team")
		}
		return kube.AllowAdmission()
	}, nil)
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE",` +
		`"name":"web-0","namespace":"kube-system","object":{"kind":"Pod","apiVersion":"v1"}}}`
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/validate", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	fmt.Println(w.Body)
	// Output: {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"1","allowed":false,"status":{"metadata":{},"status":"Failure","message":"ask the platform team","reason":"Forbidden","code":403}}}
}
