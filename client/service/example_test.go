// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"io"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/service"
	"github.com/kube-go/sdk/core/request"
)

func ExampleAPI_Proxy() {
	c := testserver.Answering("ok") // kube.NewClient(ctx, nil)
	o := &request.ProxyOptions{Port: "http", Path: "healthz"}
	resp, err := service.In(c, "prod").Proxy(context.Background(), "web", o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output:
	// GET /api/v1/namespaces/prod/services/web:http/proxy/healthz
	// ok <nil>
}
