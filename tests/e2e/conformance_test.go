// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kube-go/sdk/kubetest/conformance"
)

// TestKubetestIsLikeTheServer runs the tests that kubetest passes on the real server.
func TestKubetestIsLikeTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if !has(t, c, likeKubetest) {
		return
	}
	conformance.CheckRecorded(t, c)
	conformance.RunControllers(t, c) // first, since the deletion of the namespaces of Run delays these controllers
	conformance.Run(t, c)
}

// TestKubetestCallsWebhooksLikeTheServer runs the tests of webhooks that kubetest passes on the real server.
func TestKubetestCallsWebhooksLikeTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if !has(t, c, likeKubetest) {
		return
	}
	conformance.RunWebhooks(t, func(webhooks http.Handler) *conformance.WebhookServer {
		s := httptest.NewTLSServer(webhooks)
		t.Cleanup(s.Close)
		authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		return &conformance.WebhookServer{
			Client: c,
			Reach: func(path string) admissionregistrationv1.WebhookClientConfig {
				return admissionregistrationv1.WebhookClientConfig{URL: new(s.URL + path), CABundle: authority}
			},
		}
	})
}
