// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/kube-go/sdk/kube"
)

// TestWebhookConfigurationsFromMarkersAreAccepted checks that the server accepts the configurations that kube-derive
// generates, with everything that the markers declare.
func TestWebhookConfigurationsFromMarkersAreAccepted(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	kinds := map[string]kube.Resource{
		"MutatingWebhookConfiguration": {
			Group: "admissionregistration.k8s.io", Version: "v1",
			Kind: "MutatingWebhookConfiguration", Plural: "mutatingwebhookconfigurations",
		},
		"ValidatingWebhookConfiguration": {
			Group: "admissionregistration.k8s.io", Version: "v1",
			Kind: "ValidatingWebhookConfiguration", Plural: "validatingwebhookconfigurations",
		},
	}
	configs := fromMarkers(t, ns, "webhook")
	if len(configs) != 2 {
		t.Fatalf("%d configurations, want one of each kind", len(configs))
	}
	for _, config := range configs {
		accepts(t, c, kinds[config.GetKind()], config)
	}
}
