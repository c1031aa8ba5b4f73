// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	kubeprometheus "github.com/kube-go/sdk/contrib/prometheus"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/manager"
)

func Example() {
	metrics := kubeprometheus.New(nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	ctx := context.Background()
	c, err := client.New(ctx, &client.Options{
		Config:     &config.Config{Server: "https://cluster.test"},
		PerAttempt: []middleware.Func{middleware.Observe(metrics.Observe)},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) { // instead of a server
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := c.Do(ctx, &request.Request{Verb: "get", Method: http.MethodGet, Path: "/readyz"})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "kube_client_requests_total" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: kube_client_requests_total 1
}

func ExampleNewCollector() {
	c := newServer("orders").client() // kube.NewClient(ctx, nil)
	machine := newMachine(c)
	ctx, stop := context.WithCancel(context.Background())
	ctl := controller.New(controller.For[database](cache.New(c, nil)), nil)
	m := manager.New(c, nil)
	m.Add(ctl.With(func(ctx context.Context, db *database) (controller.Action, error) {
		defer stop()
		return machine.Reconcile(ctx, db)
	}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(kubeprometheus.NewCollector(m.Metrics()))

	_ = m.Run(ctx)
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		switch f.GetName() {
		case "kube_machine_transitions_total", "controller_runtime_reconcile_errors_total":
			fmt.Println(f.GetName(), f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output:
	// controller_runtime_reconcile_errors_total 0
	// kube_machine_transitions_total 1
}
