// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// exampleSource stands for kube.Namespaced[corev1.ConfigMap](client, "prod").Feed().
func exampleSource() watcher.Source {
	res, _ := core.ResourceOf[corev1.ConfigMap]()
	server := fakesource.New(res, wire.JSON)
	for _, name := range []string{"web", "db"} {
		server.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}})
	}
	return server
}

func ExampleWatch() {
	ctx := context.Background()
	src := exampleSource() // kube.Namespaced[corev1.ConfigMap](client, "prod").Feed()
	for ev, err := range watcher.Watch[corev1.ConfigMap](ctx, src, nil) {
		if err != nil {
			fmt.Println(err) // ctx has ended
			return
		}
		if core.InitialEventsEnd(ev.Object) {
			fmt.Println("these existed; changes follow")
			break
		}
		fmt.Println(ev.Type, ev.Object.Name)
	}
	// Output:
	// ADDED db
	// ADDED web
	// these existed; changes follow
}

func ExampleEvents() {
	ctx := context.Background()
	src := exampleSource() // kube.Namespaced[corev1.ConfigMap](client, "prod").Feed()
	config := &watcher.Options{OnError: func(err error) { fmt.Println("recovering from:", err) }}
	for ev, err := range watcher.Events(ctx, src, config) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v %v@%v\n", ev.Type, ev.Head.Ref, ev.Head.ResourceVersion)
		if ev.Type == watcher.InitDone {
			break
		}
	}
	// Output:
	// Init @
	// InitApply prod/db@3
	// InitApply prod/web@2
	// InitDone @3
}
