// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exchange is a request that the API server expects, and its response.
type exchange struct {
	request string // method, path and body
	status  int
	answer  string
}

// script is an API server that expects these exchanges. The last one may repeat.
type script struct {
	t         *testing.T
	exchanges []exchange
	next      int
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	current := s.exchanges[min(s.next, len(s.exchanges)-1)]
	s.next++
	got := strings.TrimSpace(req.Method + " " + req.URL.Path + " " + string(body))
	if diff := cmp.Diff(current.request, got); diff != "" {
		s.t.Errorf("request %d (-want +got):\n%s", s.next, diff)
	}
	return &http.Response{
		StatusCode: current.status,
		Status:     http.StatusText(current.status),
		Body:       io.NopCloser(strings.NewReader(current.answer)),
	}, nil
}

const (
	getNode   = "GET /api/v1/nodes/node-1"
	setStatus = `PATCH /api/v1/nodes/node-1/status {"status":{"addresses":[` +
		`{"type":"InternalIP","address":"127.0.0.1"},{"type":"Hostname","address":"node-1"}]}}`
	setTaints = `PATCH /api/v1/nodes/node-1 {"metadata":{"resourceVersion":"7"},"spec":{"taints":[` +
		`{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}}`

	ready    = `"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]`
	address1 = `"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]`
	hostname = `"addresses": [{"type": "Hostname", "address": "node-1"}]`
	cloud    = `{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}`
	notReady = `{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}`
)

func nodeWith(taints, status string) string {
	return `{"metadata": {"resourceVersion": "7"}, "spec": {"taints": [` + taints + `]}, "status": {` + status + `}}`
}

func TestAfterReadyInitializesANodeLikeACloudProvider(t *testing.T) {
	for _, test := range []struct {
		name      string
		exchanges []exchange
		wantErr   string
	}{
		{
			name: "step by step",
			exchanges: []exchange{
				{getNode, http.StatusNotFound, "{}"},
				{getNode, http.StatusOK, nodeWith(cloud+","+notReady, hostname)},
				{setStatus, http.StatusOK, "{}"},
				{getNode, http.StatusOK, nodeWith(cloud+","+notReady, address1)},
				{setTaints, http.StatusOK, "{}"},
				{getNode, http.StatusOK, nodeWith(notReady, address1+","+ready)},
				{getNode, http.StatusOK, nodeWith("", address1+","+ready)},
			},
		},
		{
			name: "when another client changed it in between",
			exchanges: []exchange{
				{getNode, http.StatusOK, nodeWith(cloud+","+notReady, address1)},
				{setTaints, http.StatusConflict, "{}"},
				{getNode, http.StatusOK, nodeWith("", address1+","+ready)},
			},
		},
		{
			name: "when an earlier run has completed it", exchanges: []exchange{
				{getNode, http.StatusOK, nodeWith("", address1+","+ready)},
			},
		},
		{
			name:      "but not when it does not exist",
			exchanges: []exchange{{getNode, http.StatusNotFound, "no such node"}},
			wantErr:   "GET http://server/api/v1/nodes/node-1: 404 Not Found: no such node",
		},
		{
			name:      "but not when its kubelet has reported nothing",
			exchanges: []exchange{{getNode, http.StatusOK, nodeWith("", address1)}},
			wantErr:   "its kubelet has not reported yet",
		},
		{
			name: "but not when its kubelet is not ready",
			exchanges: []exchange{{getNode, http.StatusOK, nodeWith("",
				address1+`,"conditions": [{"type": "Ready", "status": "False", "message": "no network"}]`)}},
			wantErr: "no network",
		},
		{
			name:      "but not when it stays tainted",
			exchanges: []exchange{{getNode, http.StatusOK, nodeWith(notReady, address1+","+ready)}},
			wantErr:   "it has the taint node.kubernetes.io/not-ready",
		},
		{
			name:      "but not when the response is not JSON",
			exchanges: []exchange{{getNode, http.StatusOK, "<html>"}},
			wantErr:   "invalid character",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timeout := errors.New("it took too long")
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, timeout)
				defer cancel()
				server := &script{t: t, exchanges: test.exchanges}
				node := &Node{in: Input{Name: "node-1"}}
				err := node.AfterReady(ctx, &http.Client{Transport: server}, "http://server")
				wantError(t, err, test.wantErr)
				if test.wantErr != "" && !errors.Is(err, timeout) {
					t.Errorf("AfterReady() = %v, want it to contain %v", err, timeout)
				}
				if server.next < len(test.exchanges) {
					t.Errorf("it made %d requests, want %d", server.next, len(test.exchanges))
				}
			})
		})
	}
}
