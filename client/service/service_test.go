// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/service"
	"github.com/kube-go/sdk/core/request"
)

func TestProxyReturnsTheResponseOfTheService(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	resp, err := service.In(s.Client(t), "prod").Proxy(t.Context(), "web",
		&request.ProxyOptions{Port: "http", Path: "greet"})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
		t.Errorf("body = %q, %v", body, err)
	}
	if uri := s.Asked()[0].URI; uri != "/api/v1/namespaces/prod/services/web:http/proxy/greet" {
		t.Errorf("request URI = %s", uri)
	}
	_, err = service.In(s.Client(t), "").Proxy(t.Context(), "web", nil) //nolint:bodyclose // it fails
	if err == nil || len(s.Asked()) != 1 {
		t.Errorf("without a namespace: %v after %d requests, want an error and no request", err, len(s.Asked()))
	}
}
