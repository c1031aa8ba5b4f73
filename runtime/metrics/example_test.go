// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/metrics"
)

func ExampleRegistry() {
	c, err := client.New(context.Background(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctl := controller.New(controller.For[corev1.ConfigMap](cache.New(c, nil)), &controller.Options{Concurrency: 4})
	registry := metrics.NewRegistry()
	if err := registry.AddController(ctl.With(nil)); err != nil { // with the reconcile
		fmt.Println(err)
		return
	}

	w := httptest.NewRecorder() // in a program: http.Handle("GET /metrics", registry)
	registry.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "max_concurrent") || strings.Contains(line, "kube_watches{") {
			fmt.Print(line)
		}
	}
	// Output:
	// # HELP controller_runtime_max_concurrent_reconciles Maximum number of concurrent reconciles per controller.
	// # TYPE controller_runtime_max_concurrent_reconciles gauge
	// controller_runtime_max_concurrent_reconciles{controller="configmap"} 4
	// kube_watches{cluster="",resource="configmaps",phase="Stopped"} 1
}
