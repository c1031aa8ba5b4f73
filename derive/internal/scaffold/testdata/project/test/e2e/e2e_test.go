// Package e2e tests the controller on the cluster that KUBECONFIG names.
package e2e

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
	"example.com/kube-project/internal/controller"
)

func TestController(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("needs a cluster: set KUBECONFIG, or run make e2e")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
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
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- controller.New(c, nil).Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := namespaces.Delete(context.WithoutCancel(ctx), ns.Name, nil); err != nil {
			t.Error(err)
		}
	})

	objects := kube.Namespaced[v1.Widget](c, ns.Name)
	configMaps := kube.Namespaced[corev1.ConfigMap](c, ns.Name)
	obj := v1.NewWidget("", "hello", v1.WidgetSpec{Message: "hi"})
	if _, err := objects.Create(ctx, obj, nil); err != nil {
		t.Fatal(err)
	}
	ready := kube.StatusCondition[v1.Widget](v1.ConditionReady, metav1.ConditionTrue)
	if _, err := kube.Await(ctx, objects, "hello", ready, nil); err != nil {
		t.Fatal(err)
	}
	cm, err := configMaps.Get(ctx, "hello", nil)
	if err != nil || cm.Data["message"] != "hi" {
		t.Errorf("the ConfigMap is %v, %v; want the message", cm, err)
	}
	if err := objects.Delete(ctx, "hello", nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(ctx, objects, "hello", "", nil); err != nil {
		t.Errorf("the finalizer does not let it go: %v", err)
	}
}
