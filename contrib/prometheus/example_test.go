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
	m := manager.New(nil, nil)                                   // the argument is a client
	if err := m.Metrics().AddController(numbers()); err != nil { // instead of m.Add(ctl.With(reconcile))
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(kubeprometheus.NewCollector(m.Metrics()))

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
	// controller_runtime_reconcile_errors_total 16
	// kube_machine_transitions_total 9
}
