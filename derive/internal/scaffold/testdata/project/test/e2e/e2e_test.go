// Package e2e tests the controllers on the cluster of KUBECONFIG.
package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"

	"example.com/kube-project/internal/controller"
)

// start runs the controllers until the test ends. It returns a context for the requests of the test, a client, and the
// name of an empty namespace.
func start(t *testing.T) (context.Context, *kube.Client, string) {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("needs a cluster: set KUBECONFIG, or run make e2e")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Install(ctx, c); err != nil {
		t.Fatal(err)
	}
	namespaces := kube.ClusterWide[corev1.Namespace](c)
	ns, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := kube.NewManager(c, nil)
	controller.Add(m, c)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- m.Run(running) }()
	t.Cleanup(func() {
		if err := namespaces.Delete(running, ns.Name, nil); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ctx, c, ns.Name
}

// create creates an object. It repeats the request after errors that may pass: the server has such an error until it
// can call the webhooks of the project.
func create[K any](ctx context.Context, t *testing.T, objects *kube.API[K], obj *K) {
	t.Helper()
	for {
		_, err := objects.Create(ctx, obj, nil)
		if err == nil {
			return
		}
		if !kube.IsRetryable(err) {
			t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
	}
}
