// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/client/middleware"
)

// connect returns a client of a server with recorded responses. Programs call client.New(ctx, nil) instead.
func connect() *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			switch r.URL.Path {
			case "/openapi/v3":
				fmt.Fprint(w, `{"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=A"}}}`)
			case "/openapi/v3/apis/apps/v1":
				http.ServeFile(w, r, "testdata/openapi_apps_v1.json")
			case "/version":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3","platform":"linux/amd64"}`)
			case "/readyz":
				fmt.Fprint(w, "[+]ping ok\n[+]etcd ok\nreadyz check passed\n")
			default:
				http.ServeFile(w, r, "testdata"+r.URL.Path+".json")
			}
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
	fmt.Println(len(d.Resources()), "resources")
	for _, failed := range d.Failed() { // the other group versions are available
		fmt.Println(failed)
	}
	// Output:
	// 69 resources
	// metrics.example.com/v1beta1: its server does not respond to the API server: its resources may be outdated or missing
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

func ExampleDiscovery_ResolveCategory() {
	d, err := discovery.Discover(context.Background(), connect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := d.ResolveCategory("all")
	fmt.Println(len(all), "resources, such as", all[0], err)
	// Output: 11 resources, such as pods <nil>
}

func ExampleDiscovery_Matches() {
	d, err := discovery.Discover(context.Background(), connect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Matches("event")) // Resolve returns the first
	// Output: [events events.events.k8s.io]
}

func ExampleNewMapper() {
	mapper := discovery.NewMapper(connect(), nil)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "cog", "namespace": "prod"},
	}}
	widgets, err := mapper.Dynamic(context.Background(), obj)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(widgets.Resource(), "in", widgets.Namespace())
	// Output: widgets.example.com in prod
}

func ExampleNewCache() {
	cache := discovery.NewCache(&discovery.CacheOptions{MaxAge: 10 * time.Minute}) // a Dir keeps it for the next program
	for range 2 {                                                                  // the second does not ask the server
		d, err := discovery.Discover(context.Background(), connect(), &discovery.Options{Cache: cache})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(d.Resources()))
	}
	// Output:
	// 69
	// 69
}

func ExampleFetchOpenAPI() {
	openAPI, err := discovery.FetchOpenAPI(context.Background(), connect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	doc, err := openAPI.GroupVersion(context.Background(), deployment.GroupVersion())
	if err != nil {
		fmt.Println(err)
		return
	}
	replicas, err := doc.Field(deployment, "spec", "replicas")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s (%s): %.27s\n", replicas.Type, replicas.Format, replicas.Description)
	// Output: integer (int32): Number of desired pods. Thi
}

func ExampleVersion() {
	v, err := discovery.Version(context.Background(), connect())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.GitVersion, v.Platform)
	// Output: v1.36.3 linux/amd64
}

func ExampleHealth() {
	report, err := discovery.Health(context.Background(), connect(), discovery.Ready, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Healthy, report.Checks)
	// Output: true [{ping true ok} {etcd true ok}]
}
