package e2e

import (
	"cmp"
	"context"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"

	"example.com/kube-project/internal/webhook"
)

// webhookAddr returns the address of the webhooks, which the API server must reach.
func webhookAddr() string { return cmp.Or(os.Getenv("WEBHOOKS"), "127.0.0.1:9443") }

// callWebhooks makes the API server call the webhooks of an object in this test.
func callWebhooks(obj *unstructured.Unstructured) error {
	return webhook.CallAt("https://" + webhookAddr())(obj)
}

// addWebhooks adds the webhooks to the manager of the test.
func addWebhooks(ctx context.Context, t *testing.T, m *kube.Manager, c *kube.Client) {
	t.Helper()
	addr := webhookAddr()
	if err := webhook.Configure(ctx, c, "../../config/webhook", "https://"+addr); err != nil {
		t.Fatal(err)
	}
	if err := webhook.Add(m, c, addr, "https://"+addr); err != nil {
		t.Fatal(err)
	}
}
