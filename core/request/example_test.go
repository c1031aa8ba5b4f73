// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

func podResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
}

// show prints a request as it is sent.
func show(req *request.Request, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(req.Method, req.URI())
	if req.Body != nil {
		fmt.Println(req.ContentType)
		fmt.Println(string(req.Body))
	}
}

func ExampleGet() {
	show(request.Get(request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}, nil))
	// Output: GET /api/v1/namespaces/prod/pods/web-0
}

func ExampleGet_subresource() {
	scale := request.Target{
		Resource:  core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Namespaced: true},
		Namespace: "prod", Name: "web", Subresource: "scale",
	}
	show(request.Get(scale, nil))
	// Output: GET /apis/apps/v1/namespaces/prod/deployments/web/scale
}

func ExampleList() {
	pods := request.Target{Resource: podResource(), Namespace: "prod", Encoding: wire.Protobuf}
	req, err := request.List(pods, &request.ListOptions{LabelSelector: "app=web", Limit: 500})
	show(req, err)
	fmt.Println(req.Accept)
	// Output:
	// GET /api/v1/namespaces/prod/pods?labelSelector=app%3Dweb&limit=500
	// application/vnd.kubernetes.protobuf,application/json
}

func ExampleWatch() {
	everywhere := request.Target{Resource: podResource()}
	show(request.Watch(everywhere, &request.WatchOptions{ResourceVersion: "4711", Timeout: 5 * time.Minute}))
	// Output: GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=4711&timeoutSeconds=300&watch=true
}

func ExampleCreate() {
	configMaps := request.Target{
		Resource:  core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true},
		Namespace: "prod",
	}
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"}}
	show(request.Create(configMaps, obj, &request.CreateOptions{FieldValidation: metav1.FieldValidationStrict}))
	// Output:
	// POST /api/v1/namespaces/prod/configmaps?fieldValidation=Strict
	// application/json
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"data":{"color":"blue"}}
}

func ExampleUpdate() {
	namespace := request.Target{Resource: core.Resource{Version: "v1", Kind: "Namespace", Plural: "namespaces"}, Name: "prod"}
	obj := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod", ResourceVersion: "7", Labels: map[string]string{"tier": "1"}}}
	show(request.Update(namespace, obj, nil))
	// Output:
	// PUT /api/v1/namespaces/prod
	// application/json
	// {"kind":"Namespace","apiVersion":"v1","metadata":{"name":"prod","resourceVersion":"7","labels":{"tier":"1"}},"spec":{},"status":{}}
}

func ExampleApply() {
	configMap := request.Target{
		Resource:  core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true},
		Namespace: "prod", Name: "settings",
	}
	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"}}
	show(request.Apply(configMap, desired, &request.ApplyOptions{FieldManager: "web-controller", Force: true}))
	// Output:
	// PATCH /api/v1/namespaces/prod/configmaps/settings?fieldManager=web-controller&force=true
	// application/apply-patch+yaml
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"data":{"color":"blue"}}
}

func ExamplePatchObject() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	noColor := map[string]any{"metadata": map[string]any{"labels": map[string]any{"color": nil}}}
	show(request.PatchObject(pod, request.MergePatch(noColor), nil))
	// Output:
	// PATCH /api/v1/namespaces/prod/pods/web-0
	// application/merge-patch+json
	// {"metadata":{"labels":{"color":null}}}
}

func ExampleJSONPatch() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.PatchObject(pod, request.JSONPatch(
		request.Op{Op: "test", Path: "/metadata/labels/color", Value: "red"},
		request.Op{Op: "replace", Path: "/metadata/labels/color", Value: "blue"},
	), nil))
	// Output:
	// PATCH /api/v1/namespaces/prod/pods/web-0
	// application/json-patch+json
	// [{"op":"test","path":"/metadata/labels/color","value":"red"},{"op":"replace","path":"/metadata/labels/color","value":"blue"}]
}

func ExampleDelete() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Delete(pod, &request.DeleteOptions{GracePeriod: new(time.Minute), UID: "0b1c"}))
	// Output:
	// DELETE /api/v1/namespaces/prod/pods/web-0
	// application/json
	// {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":60,"preconditions":{"uid":"0b1c"}}
}

func ExampleDeleteCollection() {
	pods := request.Target{Resource: podResource(), Namespace: "prod"}
	show(request.DeleteCollection(pods, nil, &request.ListOptions{LabelSelector: "app=web"}))
	// Output: DELETE /api/v1/namespaces/prod/pods?labelSelector=app%3Dweb
}

// An InvalidError names the field and a remedy.
func ExampleInvalidError() {
	_, err := request.List(request.Target{Resource: podResource(), Name: "web-0"}, nil)
	if invalid, ok := errors.AsType[*request.InvalidError](err); ok {
		fmt.Println(invalid.Field)
		fmt.Println(invalid.Detail)
	}
	// Output:
	// name
	// "web-0" was given, but the verb is for a whole collection; use a field selector metadata.name=web-0
}

func ExampleEvict() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Evict(pod, &request.EvictOptions{GracePeriod: new(time.Minute)}))
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/eviction
	// application/json
	// {"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web-0","namespace":"prod"},"deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":60}}
}

func ExampleBind() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Bind(pod, "n1", nil))
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/binding
	// application/json
	// {"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}}
}

func ExampleToken() {
	robot := request.Target{
		Resource:  core.Resource{Version: "v1", Kind: "ServiceAccount", Plural: "serviceaccounts", Namespaced: true},
		Namespace: "prod", Name: "robot",
	}
	show(request.Token(robot, &request.TokenOptions{Audiences: []string{"vault"}, Expiration: time.Hour}))
	// Output:
	// POST /api/v1/namespaces/prod/serviceaccounts/robot/token
	// application/json
	// {"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"audiences":["vault"],"expirationSeconds":3600}}
}

func ExampleLog() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Log(pod, &request.LogOptions{Follow: true, TailLines: new(int64(10))}))
	// Output: GET /api/v1/namespaces/prod/pods/web-0/log?follow=true&tailLines=10
}

func ExampleExec() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Exec(pod, &request.ExecOptions{Command: []string{"ls", "-l"}, Stdout: true, Stderr: true}))
	// Output: GET /api/v1/namespaces/prod/pods/web-0/exec?command=ls&command=-l&stderr=true&stdout=true
}

func ExampleAttach() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Attach(pod, &request.AttachOptions{Stdout: true}))
	// Output: GET /api/v1/namespaces/prod/pods/web-0/attach?stdout=true
}

func ExamplePortForward() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.PortForward(pod, &request.PortForwardOptions{Ports: []int32{8080}}))
	// Output: GET /api/v1/namespaces/prod/pods/web-0/portforward?ports=8080
}

func ExampleProxy() {
	pod := request.Target{Resource: podResource(), Namespace: "prod", Name: "web-0"}
	show(request.Proxy(pod, &request.ProxyOptions{Port: "9090", Path: "metrics"}))
	// Output: GET /api/v1/namespaces/prod/pods/web-0:9090/proxy/metrics
}

func ExampleRaw() {
	show(request.Raw("/readyz?verbose"))
	// Output: GET /readyz?verbose=
}

// A table has the columns that kubectl prints, for objects of any kind.
func ExampleView() {
	pods := request.Target{Resource: podResource(), Namespace: "prod", View: request.ViewTable}
	r, err := request.List(pods, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.URI())
	fmt.Println(r.Accept)
	// Output:
	// /api/v1/namespaces/prod/pods
	// application/json;as=Table;v=v1;g=meta.k8s.io
}
