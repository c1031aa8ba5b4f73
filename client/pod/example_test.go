// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core/request"
)

func ExampleAPI_Evict() {
	c := testserver.Answering(`{"kind":"Status","apiVersion":"v1","code":429,"reason":"TooManyRequests","details":{"causes":[` +
		`{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}`)
	err := pod.In(c, "prod").Evict(context.Background(), "web-0", &request.EvictOptions{GracePeriod: new(time.Minute)})
	fmt.Println(err)
	budget, ok := errors.AsType[*pod.BudgetError](err)
	fmt.Println(ok, budget.Budget)
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/eviction {"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"web-0","namespace":"prod"},"deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":60}}
	// evict pods prod/web-0: disruption budget web: needs 2 healthy pods and has 2 currently
	// true web
}

func ExampleAPI_AddEphemeralContainer() {
	c := testserver.Answering(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}`)
	tools := &corev1.EphemeralContainer{TargetContainerName: "main"}
	tools.Name, tools.Image, tools.Stdin, tools.TTY = "tools", "busybox", true, true
	_, err := pod.In(c, "prod").AddEphemeralContainer(context.Background(), "web-0", tools, nil)
	fmt.Println(err)
	// Output:
	// PATCH /api/v1/namespaces/prod/pods/web-0/ephemeralcontainers {"spec":{"ephemeralContainers":[{"name":"tools","image":"busybox","resources":{},"stdin":true,"tty":true,"targetContainerName":"main"}]}}
	// <nil>
}

func ExampleAPI_Resize() {
	c := testserver.Answering(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}`)
	more := &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}
	_, err := pod.In(c, "prod").Resize(context.Background(), "web-0", "main", more, nil)
	fmt.Println(err)
	// Output:
	// GET /api/v1/namespaces/prod/pods/web-0
	// PATCH /api/v1/namespaces/prod/pods/web-0/resize {"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2"}}}]}}
	// <nil>
}

func ExampleAPI_Bind() {
	c := testserver.Answering(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	err := pod.In(c, "prod").Bind(context.Background(), "web-0", "node-1", nil)
	fmt.Println(err)
	// Output:
	// POST /api/v1/namespaces/prod/pods/web-0/binding {"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"target":{"apiVersion":"v1","kind":"Node","name":"node-1"}}
	// <nil>
}

func ExampleAPI_Proxy() {
	c := testserver.Answering("requests 42")
	o := &request.ProxyOptions{Port: "8080", Path: "metrics"}
	resp, err := pod.In(c, "prod").Proxy(context.Background(), "web-0", o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output:
	// GET /api/v1/namespaces/prod/pods/web-0:8080/proxy/metrics
	// requests 42 <nil>
}
