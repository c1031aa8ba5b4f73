// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

func ExampleOf() {
	c := newServer("prod/web", "prod/db", "test/web").Client() // kube.NewClient(ctx, nil)
	shared := cache.New(c, nil)

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	configs := cache.Of[corev1.ConfigMap](shared, nil)
	running.Go(func() { _ = configs.Run(ctx) })
	running.Go(func() { _ = cache.Of[corev1.ConfigMap](shared, nil).Run(ctx) }) // another part of the program: the same watch

	if err := configs.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	web, err := configs.Store().Get(core.ObjectRef{Namespace: "prod", Name: "web"})
	fmt.Println(web.Data["value"], err)
	for config, err := range configs.Store().All(&reflector.SelectOptions{Namespace: "test"}) {
		fmt.Println(core.RefOf(config), err)
	}
	// Output:
	// first <nil>
	// test/web <nil>
}

func ExampleView_WaitFor() {
	c := newServer("prod/web").Client() // kube.NewClient(ctx, nil)

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	configs := cache.Of[corev1.ConfigMap](cache.New(c, nil), nil)
	running.Go(func() { _ = configs.Run(ctx) })

	api := client.Namespaced[corev1.ConfigMap](c, "prod")
	written, err := api.Patch(ctx, "web", request.MergePatch([]byte(`{"data":{"value":"second"}}`)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := configs.WaitFor(ctx, written); err != nil {
		fmt.Println(err)
		return
	}
	web, err := configs.Store().Get(core.RefOf(written))
	fmt.Println(web.Data["value"], err)
	// Output:
	// second <nil>
}
