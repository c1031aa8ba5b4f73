// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/wait"
)

// exampleDocs returns an API of documents, with a server that runs in the process.
func exampleDocs(s *server) *client.API[document] {
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: s,
	})
	if err != nil {
		panic(err)
	}
	return client.Namespaced[document](c, "prod")
}

func ExampleAwait() {
	s := &server{}
	s.put(doc("u1", "Pending"))
	docs := exampleDocs(s)

	go func() {
		time.Sleep(10 * time.Millisecond)
		s.put(doc("u1", "Running"))
	}()

	d, err := wait.Await(context.Background(), docs, "a", func(d *document) error {
		switch d.Status.Phase {
		case "Running":
			return nil
		case "Failed":
			return core.Terminal(errors.New("the document has failed"))
		}
		return fmt.Errorf("phase is %s", d.Status.Phase)
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name, "is", d.Status.Phase)

	// Output:
	// a is Running
}

func ExampleStatusCondition() {
	s := &server{}
	s.put(doc("u1", "Pending"))
	docs := exampleDocs(s)

	go func() {
		time.Sleep(10 * time.Millisecond)
		ready := doc("u1", "Running")
		ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Rendered"}}
		s.put(ready)
	}()

	isReady := wait.StatusCondition[document]("Ready", metav1.ConditionTrue)
	d, err := wait.Await(context.Background(), docs, "a", isReady, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name, "is ready:", d.Status.Conditions[0].Reason)
	fmt.Println("before that:", isReady(doc("u1", "Pending")))

	// Output:
	// a is ready: Rendered
	// before that: condition Ready is missing
}

func ExampleReady() {
	one := int32(1)
	web := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &one}}
	web.Generation, web.Status.ObservedGeneration = 2, 1
	fmt.Println(wait.Ready(web))
	web.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}
	fmt.Println(wait.Ready(web))
	web.Status.AvailableReplicas = 1
	fmt.Println(wait.Ready(web))

	// Output:
	// the status is of generation 1, but the object has generation 2
	// 0 of 1 replicas are available
	// <nil>
}

func ExampleJSONPath() {
	isRunning := wait.JSONPath[document]("{.status.phase}", "Running")
	fmt.Println(isRunning(doc("u1", "Pending")))
	fmt.Println(isRunning(doc("u1", "Running")))

	reason := wait.JSONPath[document](`{.status.conditions[?(@.type=="Ready")].reason}`, "Rendered")
	fmt.Println(reason(doc("u1", "Running")))

	// Output:
	// {.status.phase} is "Pending", want "Running"
	// <nil>
	// {.status.conditions[?(@.type=="Ready")].reason} does not exist
}

func ExampleGone() {
	s := &server{}
	d := doc("u1", "Running")
	s.put(d)
	docs := exampleDocs(s)

	go func() {
		time.Sleep(10 * time.Millisecond)
		s.put(nil)
		s.put(doc("u2", "Pending")) // another object takes the name
	}()

	if err := wait.Gone(context.Background(), docs, d.Name, d.UID, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("it is gone")

	// Output:
	// it is gone
}

func ExampleDeleteAndWait() {
	s := &server{}
	s.put(doc("u1", "Running"))
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"},
		Transport: &deleter{server: s, delete: func(int, types.UID) int {
			go func() {
				time.Sleep(10 * time.Millisecond)
				s.put(nil) // its finalizers are removed
			}()
			return http.StatusOK
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	docs := client.Namespaced[document](c, "prod")

	err = wait.DeleteAndWait(context.Background(), docs, "a", nil)
	fmt.Println(err)
	err = wait.DeleteAndWait(context.Background(), docs, "a", nil)
	fmt.Println("again:", errors.Is(err, core.ErrNotFound))

	// Output:
	// <nil>
	// again: true
}
