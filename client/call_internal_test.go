// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestCallDescribesTheRequest checks the description of a request for the middleware, including whether it may be sent
// twice.
func TestCallDescribesTheRequest(t *testing.T) {
	pod := request.Target{Resource: core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}, Namespace: "prod", Name: "web-0"}
	sub := func(name string) request.Target {
		t := pod
		t.Subresource = name
		return t
	}
	build := func(r *request.Request, err error) *request.Request {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tc := range []struct {
		name       string
		in         *request.Request
		verb, sub  string
		idempotent bool
	}{
		{"get", build(request.Get(pod, nil)), "get", "", true},
		{"a subresource", build(request.Get(sub("status"), nil)), "get", "status", true},
		{"logs", build(request.Log(pod, nil)), "get", "log", true},
		{"delete", build(request.Delete(pod, nil)), "delete", "", false},
		{"delete by UID", build(request.Delete(pod, &request.DeleteOptions{UID: "u-1"})), "delete", "", true},
		{"delete by version", build(request.Delete(pod, &request.DeleteOptions{ResourceVersion: "7"})), "delete", "", false},
		{"delete in the foreground", build(request.Delete(pod, &request.DeleteOptions{Propagation: metav1.DeletePropagationForeground})), "delete", "", false},
		{"merge patch", build(request.PatchObject(pod, request.MergePatch(map[string]any{}), nil)), "patch", "", true},
		{"strategic merge patch", build(request.PatchObject(pod, request.StrategicMergePatch(map[string]any{}), nil)), "patch", "", true},
		{"JSON patch", build(request.PatchObject(pod, request.JSONPatch(request.Op{Op: "remove", Path: "/a"}), nil)), "patch", "", false},
		{"eviction", build(request.Evict(pod, nil)), "create", "eviction", false},
		{"exec", build(request.Exec(pod, &request.ExecOptions{Command: []string{"ls"}, Stdout: true})), "create", "exec", false},
		{"proxied get", build(request.Proxy(pod, nil)), "get", "proxy", true},
		{"proxied put", build(request.Proxy(pod, &request.ProxyOptions{Method: "PUT"})), "update", "proxy", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := middleware.Call{
				Verb: tc.verb, Version: "v1", Resource: "pods", Subresource: tc.sub, Namespace: "prod", Name: "web-0", Idempotent: tc.idempotent,
				LongRunning: slices.Contains([]string{"log", "exec", "proxy"}, tc.sub),
			}
			if diff := cmp.Diff(want, callOf(tc.in)); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
	for _, tc := range []struct {
		in   request.Request
		want middleware.Call
	}{
		{*build(request.Raw("/version")), middleware.Call{Verb: "get", Idempotent: true}},
		{*build(request.Raw("/api/v1/pods?watch=1")), middleware.Call{Verb: "get", Idempotent: true, LongRunning: true}},
		{*build(request.Raw("/api/v1/watch/pods")), middleware.Call{Verb: "get", Idempotent: true, LongRunning: true}},
		{*build(request.Raw("/api/v1/namespaces/a/pods/b/log?follow=1")), middleware.Call{Verb: "get", Idempotent: true, LongRunning: true}},
		{
			*build(request.Raw("/api/v1/nodes/n/proxy/metrics")),
			middleware.Call{Verb: "get", Subresource: "proxy", Idempotent: true, LongRunning: true},
		},
		{
			*build(request.Raw("/api/v1/namespaces/a/services/https:b:443/proxy/")),
			middleware.Call{Verb: "get", Subresource: "proxy", Idempotent: true, LongRunning: true},
		},
		{
			request.Request{Method: "PUT", Verb: "update", Path: "/api/v1/namespaces/a/pods/b/proxy"},
			middleware.Call{Verb: "update", Subresource: "proxy", LongRunning: true},
		},
		{*build(request.Raw("/api/v1/namespaces/proxy")), middleware.Call{Verb: "get", Idempotent: true, LongRunning: true}},
		{
			*build(request.Raw("/api/v1/namespaces/a/configmaps/proxy")),
			middleware.Call{Verb: "get", Idempotent: true, LongRunning: true},
		},
		{*build(request.Raw("/debug/pprof/profile?seconds=300")), middleware.Call{Verb: "get", Idempotent: true, LongRunning: true}},
		{*build(request.Raw("/debug/flags/v")), middleware.Call{Verb: "get", Idempotent: true}},
		{request.Request{Method: "HEAD", Path: "/"}, middleware.Call{Idempotent: true}},
		{request.Request{Method: "POST", Path: "/"}, middleware.Call{}},
	} {
		if diff := cmp.Diff(tc.want, callOf(&tc.in)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.in.Method, tc.in.Path, diff)
		}
	}
}
