// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
	"github.com/kube-go/sdk/runtime/webhook"
)

// newShop returns an API server with the configuration shop of a webhook that the service prod/shop-webhook serves.
func newShop() *fakeapi.Server {
	hooks := core.Resource{
		Group: "admissionregistration.k8s.io", Version: "v1",
		Kind: "ValidatingWebhookConfiguration", Plural: "validatingwebhookconfigurations",
	}
	api := fakeapi.New(core.Resource{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}, hooks)
	service := &admissionv1.ServiceReference{Namespace: "prod", Name: "shop-webhook"}
	api.Put(hooks, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Webhooks:   []admissionv1.ValidatingWebhook{{ClientConfig: admissionv1.WebhookClientConfig{Service: service}}},
	})
	return api
}

func ExampleNewServer() {
	c := newShop().Client() // kube.NewClient(ctx, nil)
	srv := webhook.NewServer(c, &webhook.Options{
		Service: "shop-webhook", Namespace: "prod", Validating: []string{"shop"},
		Listener: newPipe(), StopDelay: -1, Logger: slog.New(slog.DiscardHandler),
	})
	srv.Handle("/validate", webhook.Validate(func(context.Context, *webhook.Request[corev1.Pod]) error {
		return nil // allows everything
	}, nil))
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()

	configurations := client.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c)
	_, err := wait.Await(ctx, configurations, "shop", func(shop *admissionv1.ValidatingWebhookConfiguration) error {
		if len(shop.Webhooks[0].ClientConfig.CABundle) == 0 {
			return errors.New("the configuration has no bundle")
		}
		return nil
	}, nil)
	fmt.Println("API servers trust the server:", err == nil && srv.Ready(ctx) == nil)
	stop(errors.New("the program ends"))
	fmt.Println(<-ended)
	// Output:
	// API servers trust the server: true
	// the program ends
}
