// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kube-go/sdk/client/middleware"
)

// TestLabels checks that calls within the limit have their own labels, and that all others share one.
func TestLabels(t *testing.T) {
	labels := middleware.NewLabels(2)
	deployments := middleware.Call{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web"}
	for _, tc := range []struct {
		name string
		in   middleware.Call
		want [3]string
	}{
		{"a resource", deployments, [3]string{"get", "deployments.apps", "scale"}},
		{
			"another resource with an unknown verb",
			middleware.Call{Verb: "dance", Resource: "pods"},
			[3]string{"other", "pods", ""},
		},
		{
			"a resource beyond the limit", middleware.Call{Verb: "list", Resource: "nodes"}, [3]string{"list", "other", "other"},
		},
		{"a resource that was seen before", deployments, [3]string{"get", "deployments.apps", "scale"}},
	} {
		verb, resource, sub := labels.Of(tc.in)
		if got := [3]string{verb, resource, sub}; got != tc.want {
			t.Errorf("%s: Of(%+v) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

// TestLabelsOfMany checks that the limit holds for concurrent callers.
func TestLabelsOfMany(t *testing.T) {
	labels, seen := middleware.NewLabels(0), sync.Map{}
	var asking sync.WaitGroup
	for i := range 1000 {
		asking.Go(func() {
			_, resource, _ := labels.Of(middleware.Call{Resource: fmt.Sprint("things", i)})
			seen.Store(resource, true)
		})
	}
	asking.Wait()
	n := 0
	seen.Range(func(any, any) bool {
		n++
		return true
	})
	if n != 201 {
		t.Errorf("%d labels, want 200 and other", n)
	}
}
