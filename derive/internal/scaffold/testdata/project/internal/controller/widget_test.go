package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/kube-project/api/v1"
)

func TestWidgetConfigMap(t *testing.T) {
	obj := v1.NewWidget("prod", "hello", v1.WidgetSpec{Message: "hi"})
	got := widgetConfigMap(obj, metav1.OwnerReference{UID: "1"})
	if got.Namespace != "prod" || got.Name != "hello" || got.Data["message"] != "hi" {
		t.Errorf("widgetConfigMap(%+v) = %+v", obj.Spec, got)
	}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "1" {
		t.Errorf("owners = %+v, want the given one", got.OwnerReferences)
	}
}

func TestWidgetStatus(t *testing.T) {
	obj := v1.NewWidget("prod", "hello", v1.WidgetSpec{Message: "hi"})
	obj.Generation = 2
	first := widgetStatus(obj)
	cond := meta.FindStatusCondition(first.Status.Conditions, v1.WidgetReady)
	if cond == nil || cond.ObservedGeneration != 2 {
		t.Errorf("condition = %+v, want that generation 2 is ready", cond)
	}
	if first.Spec != (v1.WidgetSpec{}) {
		t.Errorf("an apply of the status would claim the spec %+v", first.Spec)
	}
	// The second status keeps the time of the last transition, so that nothing is written. It has no conditions of other
	// controllers.
	obj.Status = first.Status
	obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue})
	again := widgetStatus(obj)
	if again.Status.Conditions[0] != first.Status.Conditions[0] {
		t.Errorf("the condition has changed to %+v", again.Status.Conditions[0])
	}
	if len(again.Status.Conditions) != 1 {
		t.Errorf("conditions = %+v, want none of another controller", again.Status.Conditions)
	}
}
