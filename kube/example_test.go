// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// server stands in for an API server in a unit test: it records each write, and responds with the object that was sent.
// It opens no socket, so that it also works in a bubble of testing/synctest. It refuses protobuf, in which clients send
// the kinds of k8s.io/api, and so gets JSON.
type server struct {
	requests []string
	object   string // the response to a JSON patch, such as that of kube.Finalize: the patched object
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Content-Type") == "application/vnd.kubernetes.protobuf" {
		return &http.Response{StatusCode: http.StatusUnsupportedMediaType, Body: http.NoBody}, nil
	}
	object, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+string(object))
	if r.Header.Get("Content-Type") == "application/json-patch+json" {
		object = []byte(s.object)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(object))}, nil
}

// A unit test of a reconcile calls it with an object and a client whose transport is a function of the test.
func ExampleClientOptions_unitTest() {
	ctx := context.Background() // in a test: t.Context()
	s := &server{}
	c, err := kube.NewClient(ctx, &kube.ClientOptions{Config: &kube.Config{Server: "https://cluster.test"}, Transport: s})
	if err != nil {
		fmt.Println(err)
		return
	}
	// reconcile is the function under test, which NewController takes, too.
	reconcile := func(ctx context.Context, pod *corev1.Pod) (kube.Action, error) {
		data := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			Data:       map[string]string{"phase": string(pod.Status.Phase)},
		}
		_, err := kube.ClusterWide[corev1.ConfigMap](c).Apply(ctx, data, &kube.ApplyOptions{FieldManager: "phases"})
		if err != nil {
			return kube.AwaitChange(), err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		_, err = kube.ClusterWide[corev1.Secret](c).Create(ctx, secret, nil)
		return kube.AwaitChange(), err
	}

	action, err := reconcile(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web-0"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	})
	fmt.Println(action == kube.AwaitChange(), err)
	fmt.Println(strings.Join(s.requests, "\n"))
	// Output:
	// true <nil>
	// PATCH /api/v1/namespaces/prod/configmaps/web-0 {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"data":{"phase":"Running"}}
	// POST /api/v1/namespaces/prod/secrets {"kind":"Secret","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"}}
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
