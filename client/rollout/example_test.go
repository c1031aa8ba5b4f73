// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/rollout"
)

func ExampleRestart() {
	const web = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","resourceVersion":"7"}}`
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.example"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) { // stands in for a server
			fmt.Println(r.Method, r.URL.Path)
			header := http.Header{"Content-Type": {"application/json"}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(web))}, nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	deployments := client.Namespaced[appsv1.Deployment](c, "prod")

	_, err = rollout.Restart(context.Background(), deployments, "web", nil)
	fmt.Println(err)
	// Output:
	// GET /apis/apps/v1/namespaces/prod/deployments/web
	// PATCH /apis/apps/v1/namespaces/prod/deployments/web
	// <nil>
}
