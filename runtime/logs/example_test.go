// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/logs"
)

func ExampleMerge() {
	server := &logServer{
		pods: []corev1.Pod{running("web-0", "main"), running("web-1", "main")},
		logs: map[string]string{
			"web-0/main": at(1) + " listening\n" + at(4) + " GET /\n",
			"web-1/main": at(2) + " listening\n" + at(3) + " GET /healthz\n",
		},
	}
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			return w.Result(), nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := client.Namespaced[corev1.Pod](c, "prod")
	for line, err := range logs.Merge(context.Background(), pods, &logs.Options{LabelSelector: "app=web"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(line.Pod.Name, line.Text)
	}
	// Output:
	// web-0 listening
	// web-1 listening
	// web-1 GET /healthz
	// web-0 GET /
}
