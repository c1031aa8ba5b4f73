// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"testing"

	"github.com/kube-go/sdk/derive/internal/kind"
)

func TestPluralize(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Document", "documents"},
		{"Ingress", "ingresses"},
		{"Box", "boxes"},
		{"Batch", "batches"},
		{"Mesh", "meshes"},
		{"NetworkPolicy", "networkpolicies"},
		{"HTTPRoute", "httproutes"},
		{"Gateway", "gateways"},
		{"Status", "statuses"},
		{"Endpoints", "endpoints"},
		{"SecretIndex", "secretindices"},
		{"BuildMatrix", "buildmatrices"},
		{"RequestAlias", "requestaliases"},
		{"Analysis", "analyses"},
		{"Person", "people"},
		{"Shelf", "shelves"},
		{"Repo", "repoes"},
		{"Photo", "photos"},
		{"Metadata", "metadata"},
		{"PrivateDNS", "privatednses"},
		{"ImageSeries", "imageseries"},
		{"VPC", "vpcs"},
		{"Y", "ys"},
	} {
		if got := kind.Pluralize(tt.in); got != tt.want {
			t.Errorf("Pluralize(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
