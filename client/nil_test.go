// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestNilClientIsAnErrorOfEachRequest checks that an API or a feed of a nil client can be created, and that each of
// their requests returns an error that names the remedy.
func TestNilClientIsAnErrorOfEachRequest(t *testing.T) {
	ctx := t.Context()
	pods, _ := core.ResourceOf[corev1.Pod]()
	res := core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
	wide := client.ClusterWide[corev1.Pod](nil)
	api := client.Namespaced[corev1.Pod](nil, "prod")
	pod := &corev1.Pod{}
	pod.Name = "a"
	patch := request.MergePatch(map[string]any{})
	for name, call := range map[string]func() error{
		"Get":    func() error { _, err := api.Get(ctx, "a", nil); return err },
		"List":   func() error { _, err := wide.List(ctx, nil); return err },
		"Create": func() error { _, err := api.Create(ctx, pod, nil); return err },
		"Update": func() error { _, err := api.Update(ctx, pod, nil); return err },
		"Apply":  func() error { _, err := api.Apply(ctx, pod, &request.ApplyOptions{FieldManager: "m"}); return err },
		"Patch":  func() error { _, err := api.Patch(ctx, "a", patch, nil); return err },
		"Delete": func() error { return api.Delete(ctx, "a", nil) },
		"All": func() error {
			for _, err := range wide.All(ctx, nil) {
				return err
			}
			return nil
		},
		"Rows":       func() error { _, err := wide.Rows().List(ctx, nil); return err },
		"Metadata":   func() error { _, err := api.Metadata().Get(ctx, "a", nil); return err },
		"Protobuf":   func() error { _, err := api.PreferEncoding(wire.Protobuf).Get(ctx, "a", nil); return err },
		"Status":     func() error { _, err := api.Subresource("status").Get(ctx, "a", nil); return err },
		"Dynamic":    func() error { _, err := client.Dynamic(nil, res).In("prod").Get(ctx, "a", nil); return err },
		"Of":         func() error { return deleteAll(ctx, client.Of[unstructured.Unstructured](nil, res)) },
		"feed":       func() error { return listFeed(ctx, client.NewFeed(nil, pods, "prod")) },
		"api's feed": func() error { return listFeed(ctx, wide.Feed().Metadata()) },
		"Do": func() error {
			req, err := request.Get(request.Target{Resource: pods, Namespace: "prod", Name: "a"}, nil)
			if err != nil {
				return err
			}
			resp, err := api.Client().Do(ctx, req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		},
		"Do of nil": func() error {
			resp, err := (*client.Client)(nil).Do(ctx, &request.Request{Method: "GET", Path: "/version"})
			if err == nil {
				resp.Body.Close()
			}
			return err
		},
		"Upgrade of nil": func() error {
			conn, err := (*client.Client)(nil).Upgrade(ctx, &request.Request{Method: "GET", Path: "/version"}, nil)
			if err == nil {
				conn.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil || !strings.Contains(err.Error(), "client: is nil: pass one of client.New") {
				t.Errorf("error = %v, want one that says that the client is nil", err)
			}
		})
	}
	if got := api.Client().Server() + api.Client().Namespace(); got != "" {
		t.Errorf("server and namespace of a nil client = %q, want none", got)
	}
}

func deleteAll(ctx context.Context, api *client.API[unstructured.Unstructured]) error {
	return api.DeleteCollection(ctx, nil, nil)
}

func listFeed(ctx context.Context, f *client.Feed) error {
	_, err := f.List(ctx, nil, func(wire.Packed) error { return nil })
	return err
}
