// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel_test

import (
	"context"
	"fmt"
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	kubeotel "github.com/kube-go/sdk/contrib/otel"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

func Example() {
	spans := tracetest.NewInMemoryExporter() // instead of a collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry, err := kubeotel.New(&kubeotel.Options{TracerProvider: provider})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	c, err := client.New(ctx, &client.Options{
		Config:     &config.Config{Server: "https://cluster.test"},
		PerAttempt: []middleware.Func{middleware.Observe(telemetry.Observe)},
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
	fmt.Println(spans.GetSpans()[0].Name)
	// Output: GET
}

func ExampleTelemetry_Steps() {
	spans := tracetest.NewInMemoryExporter() // instead of a collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry, err := kubeotel.New(&kubeotel.Options{TracerProvider: provider})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := newServer("orders").client() // kube.NewClient(ctx, nil)
	machine := newMachine(c, telemetry.Steps("example.com/database"))
	ctl := controller.New(controller.For[database](cache.New(c, nil)), nil)

	ctx, stop := context.WithCancel(context.Background())
	reconcile := kubeotel.Reconcile(telemetry, "database", machine.Reconcile)
	_ = ctl.Run(ctx, func(ctx context.Context, db *database) (controller.Action, error) {
		defer stop()
		return reconcile(ctx, db)
	})
	for _, span := range spans.GetSpans()[:3] {
		fmt.Println(span.Name)
	}
	// Output:
	// state Provision
	// state Serve
	// reconcile database
}
