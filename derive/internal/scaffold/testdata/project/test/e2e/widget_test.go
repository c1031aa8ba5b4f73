package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

func TestWidget(t *testing.T) {
	ctx, c, ns := start(t)
	objects := kube.Namespaced[v1.Widget](c, ns)
	configMaps := kube.Namespaced[corev1.ConfigMap](c, ns)
	obj := v1.NewWidget("", "hello", v1.WidgetSpec{Message: "hi"})
	create(ctx, t, objects, obj)
	ready := kube.StatusCondition[v1.Widget](v1.WidgetReady, metav1.ConditionTrue)
	if _, err := kube.Await(ctx, objects, "hello", ready, nil); err != nil {
		t.Fatal(err)
	}
	cm, err := configMaps.Get(ctx, "widget-hello", nil)
	if err != nil || cm.Data["message"] != "hi" {
		t.Errorf("the ConfigMap is %v, %v; want the message", cm, err)
	}
	if err := objects.Delete(ctx, "hello", nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(ctx, objects, "hello", "", nil); err != nil {
		t.Errorf("the finalizer was not removed: %v", err)
	}
}
