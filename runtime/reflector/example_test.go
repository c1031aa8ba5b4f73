// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// exampleSource stands for kube.Namespaced[corev1.ConfigMap](client, "prod").Feed().
func exampleSource() watcher.Source {
	res, _ := core.ResourceOf[corev1.ConfigMap]()
	server := fakesource.New(res, wire.Protobuf)
	server.Put(configMap("prod/web", "blue"))
	return server
}

func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	src := exampleSource() // kube.Namespaced[corev1.ConfigMap](client, "prod").Feed()
	r := reflector.New(src, nil)
	configs := reflector.StoreOf[corev1.ConfigMap](r)
	go r.Run(ctx)
	if err := configs.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	web, err := configs.Get(core.ObjectRef{Namespace: "prod", Name: "web"})
	fmt.Println(web.Data["value"], err)
	_, err = configs.Get(core.ObjectRef{Namespace: "prod", Name: "db"})
	fmt.Println(err)
	// Output:
	// blue <nil>
	// configmaps prod/db: not found
}

func ExampleStore_Subscribe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	src := exampleSource() // kube.Namespaced[corev1.ConfigMap](client, "prod").Feed()
	r := reflector.New(src, nil)
	configs := reflector.StoreOf[corev1.ConfigMap](r)
	go r.Run(ctx)
	for change, err := range configs.Subscribe(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if change.Type == core.Bookmark {
			fmt.Println("these existed; changes follow")
			break
		}
		fmt.Println(change.Type, change.Ref)
	}
	// Output:
	// ADDED prod/web
	// these existed; changes follow
}

func ExampleDecoded() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	src := exampleSource() // kube.Namespaced[corev1.ConfigMap](client, "prod").Feed()
	r := reflector.New(src, nil)
	configs := reflector.Decoded(reflector.StoreOf[corev1.ConfigMap](r))
	go r.Run(ctx)
	if err := configs.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	ref := core.ObjectRef{Namespace: "prod", Name: "web"}
	one, err := configs.Get(ref)
	if err != nil {
		fmt.Println(err)
		return
	}
	two, err := configs.Get(ref)
	fmt.Println(one == two, err)
	mine := one.DeepCopy() // because all readers share one
	mine.Data["value"] = "green"
	fmt.Println(two.Data["value"])
	// Output:
	// true <nil>
	// blue
}
