// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/client/middleware"
)

// connect returns a client of a server of which this was recorded. Programs call client.New(ctx, nil) instead.
func connect() *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			http.ServeFile(w, r, "testdata"+r.URL.Path+".json")
			return w.Result(), nil
		}),
	})
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleDiscover() {
	d, err := discovery.Discover(context.Background(), connect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(d.Resources()), "resources; did not answer:", d.Stale())
	// Output: 69 resources; did not answer: [metrics.example.com/v1beta1]
}

func ExampleDiscovery_Resolve() {
	d, err := discovery.Discover(context.Background(), connect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"deploy", "Widget", "hpa.v1.autoscaling"} {
		res, err := d.Resolve(name)
		fmt.Println(res, res.Version, err)
	}
	// Output:
	// deployments.apps v1 <nil>
	// widgets.example.com v1 <nil>
	// horizontalpodautoscalers.autoscaling v1 <nil>
}
