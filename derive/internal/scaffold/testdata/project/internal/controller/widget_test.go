package controller

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"

	v1 "example.com/kube-project/api/v1"
)

// TestWidgetController runs the controllers of the project with an API server in memory and the permissions of the
// service account: first without faults, and then with a crash, an error or another fault at each of their writes.
func TestWidgetController(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Options: &kubetest.Options{
				Definitions: definitions(),
				Files:       manifests(),
				Objects:     []kube.Object{v1.NewWidget("prod", "hello", v1.WidgetSpec{Message: "hi"})},
			},
			User: user,
			Program: func(ctx context.Context, c *kube.Client) error {
				m := kube.NewManager(c, nil)
				Add(m, c)
				return m.Run(ctx)
			},
			Story: func(s *kubetest.Server) {
				c := s.Client(nil)
				objects, configMaps := kube.Namespaced[v1.Widget](c, "prod"), kube.Namespaced[corev1.ConfigMap](c, "prod")
				s.Settle() // until the controllers have nothing left to do
				obj, err := objects.Get(t.Context(), "hello", nil)
				if err != nil || !meta.IsStatusConditionTrue(obj.Status.Conditions, v1.WidgetReady) {
					t.Fatalf("the object is %+v, %v; want that it is ready", obj, err)
				}
				cm, err := configMaps.Get(t.Context(), obj.Status.ConfigMap, nil)
				if err != nil || cm.Data["message"] != "hi" {
					t.Errorf("the ConfigMap is %v, %v; want the message", cm, err)
				}
				if err := objects.Delete(t.Context(), "hello", nil); err != nil {
					t.Fatal(err)
				}
				s.Settle()
				if list, err := configMaps.List(t.Context(), nil); err != nil || len(list.Items) > 0 {
					t.Errorf("after the deletion, the ConfigMaps are %v, %v; want none", list, err)
				}
			},
		}
	})
}

func TestWidgetConfigMap(t *testing.T) {
	obj := v1.NewWidget("prod", "hello", v1.WidgetSpec{Message: "hi"})
	obj.UID = "1"
	got := &corev1.ConfigMap{} // it does not exist
	if err := setWidgetConfigMap(got, obj); err != nil || got.Data["message"] != "hi" || !metav1.IsControlledBy(got, obj) {
		t.Errorf("new ConfigMap = %+v, %v; want the message, and the object as its controller", got, err)
	}
	got.UID, obj.Spec.Message = "2", "changed"
	if err := setWidgetConfigMap(got, obj); err != nil || got.Data["message"] != "changed" {
		t.Errorf("existing ConfigMap = %+v, %v; want the new message", got, err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: "3"}, Data: map[string]string{"message": "of a user"}}
	err := setWidgetConfigMap(foreign, obj)
	if err != nil || foreign.Data["message"] != "of a user" || len(foreign.OwnerReferences) > 0 {
		t.Errorf("ConfigMap of a user = %+v, %v; want no change", foreign, err)
	}
}

func TestWidgetStatus(t *testing.T) {
	obj := v1.NewWidget("prod", "hello", v1.WidgetSpec{Message: "hi"})
	obj.UID, obj.Generation = "1", 2
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "widget-hello"}}
	if err := setWidgetConfigMap(cm, obj); err != nil {
		t.Fatal(err)
	}
	first := widgetStatus(obj, cm)
	cond := meta.FindStatusCondition(first.Status.Conditions, v1.WidgetReady)
	if cond == nil || cond.Status != metav1.ConditionTrue || cond.ObservedGeneration != 2 {
		t.Errorf("condition = %+v, want that generation 2 is ready", cond)
	}
	if first.Spec != (v1.WidgetSpec{}) {
		t.Errorf("an apply of the status would claim the spec %+v", first.Spec)
	}
	// The second status keeps the time of the last transition, so that nothing is written. It has no conditions of other
	// controllers.
	obj.Status = first.Status
	obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue})
	again := widgetStatus(obj, cm)
	if again.Status.Conditions[0] != first.Status.Conditions[0] {
		t.Errorf("the condition has changed to %+v", again.Status.Conditions[0])
	}
	if len(again.Status.Conditions) != 1 {
		t.Errorf("conditions = %+v, want none of another controller", again.Status.Conditions)
	}
	cm.OwnerReferences = nil // the ConfigMap of a user
	taken := widgetStatus(obj, cm).Status
	if !meta.IsStatusConditionFalse(taken.Conditions, v1.WidgetReady) || taken.ConfigMap != "" {
		t.Errorf("status = %+v, want that the name is taken", taken)
	}
}
