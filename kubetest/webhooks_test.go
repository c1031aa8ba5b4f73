// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest"
	"github.com/kube-go/sdk/kubetest/conformance"
)

func TestWebhooksConformance(t *testing.T) {
	conformance.RunWebhooks(t, func(webhooks http.Handler) *conformance.WebhookServer {
		return &conformance.WebhookServer{
			Client: kubetest.Start(t, &kubetest.Options{Webhooks: webhooks}).Client(nil),
			Reach: func(path string) admissionregistrationv1.WebhookClientConfig {
				return admissionregistrationv1.WebhookClientConfig{
					Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "webhooks", Path: &path},
				}
			},
		}
	})
}

func TestWebhookConfigurationsNeedAHandler(t *testing.T) {
	text := failed(t, func(tb testing.TB) {
		tb.Helper()
		kubetest.Start(tb, &kubetest.Options{Objects: []core.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		}})
	})
	const want = "it needs Options.Webhooks, a handler of the webhooks"
	if !strings.Contains(text, want) {
		t.Errorf("the failure is %q, want %q", text, want)
	}
}
