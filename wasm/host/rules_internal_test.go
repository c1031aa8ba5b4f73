// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestRequestsNeedThePermissionsOfTheServer(t *testing.T) {
	for _, tt := range []struct{ method, url, want string }{
		{"GET", "/api/v1/pods", " pods list"},
		{"GET", "/api/v1/pods?watch=true", " pods watch"},
		{"GET", "/api/v1/namespaces/n/pods/web", " pods get"},
		{"GET", "/api/v1/namespaces/n/pods/web/log?follow=true", " pods/log get"},
		{"POST", "/api/v1/namespaces/n/pods", " pods create"},
		{"PUT", "/apis/apps/v1/namespaces/n/deployments/web", "apps deployments update"},
		{"PATCH", "/apis/apps/v1/namespaces/n/deployments/web/status", "apps deployments/status patch"},
		{"DELETE", "/apis/apps/v1/namespaces/n/deployments/web", "apps deployments delete"},
		{"DELETE", "/apis/apps/v1/namespaces/n/deployments", "apps deployments deletecollection"},
		{"GET", "/api/v1/namespaces/n", " namespaces get"},
		{"PATCH", "/api/v1/namespaces/n/status", " namespaces/status patch"},
		{"GET", "/apis/apps/v1", "  "},
		{"GET", "/version", "  "},
	} {
		group, resource, verb := usedBy(tt.method, tt.url)
		if got := group + " " + resource + " " + verb; got != tt.want {
			t.Errorf("usedBy(%s, %s) = %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
}
