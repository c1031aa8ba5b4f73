package controller

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

// widgetFinalizer keeps an object until its cleanup is done.
const widgetFinalizer = "group.example.com/widget-cleanup"

// The permissions of the reconcile. `make generate` writes a ClusterRole with them. The permission to update the
// finalizers of an object is needed to make it an owner of others that blocks its own deletion.
//
// +kubebuilder:rbac:groups=group.example.com,resources=widgets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=group.example.com,resources=widgets/status,verbs=patch
// +kubebuilder:rbac:groups=group.example.com,resources=widgets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// widgetReconciler reconciles the objects of the kind Widget: it publishes the message of each in a ConfigMap.
type widgetReconciler struct {
	objects    *kube.API[v1.Widget]
	configMaps *kube.API[corev1.ConfigMap]
	recorder   *kube.Recorder
}

// addWidget adds the controller of the kind Widget to a manager.
func addWidget(m *kube.Manager, c *kube.Client, cache *kube.Cache) {
	r := &widgetReconciler{
		objects:    kube.ClusterWide[v1.Widget](c),
		configMaps: kube.ClusterWide[corev1.ConfigMap](c),
		recorder:   kube.NewRecorder(c, &kube.RecorderOptions{Controller: "group.example.com/widget"}),
	}
	m.AddToAll(r.recorder)
	ctl := kube.NewController(kube.For[v1.Widget](cache), &kube.ControllerOptions{
		RunTimeout: time.Minute, // then the context of a reconcile ends; livez fails if the reconcile does not return
		OnResult: func(res kube.Result) {
			if res.Err == nil { // errors are logged by default
				slog.Info("reconciled", "widget", res.Key.String(), "next", res.Action.String(), "took", res.Took)
			}
		},
	}).Owns(kube.Source[corev1.ConfigMap](cache))
	m.Add(ctl.With(r.reconcile))
}

// reconcile is called for an object after changes, but not with the changes. It may run again for work that is done.
func (r *widgetReconciler) reconcile(ctx context.Context, obj *v1.Widget) (kube.Action, error) {
	return kube.Finalize(ctx, r.objects, widgetFinalizer, obj, kube.FinalizerFuncs[v1.Widget]{
		Apply:   r.apply,
		Cleanup: r.cleanup,
	})
}

// apply writes the ConfigMap of an object, and applies its status.
func (r *widgetReconciler) apply(ctx context.Context, obj *v1.Widget) (kube.Action, error) {
	name := "widget-" + obj.Name // different from the names that other kinds use
	cm, err := r.configMaps.In(obj.Namespace).CreateOrUpdate(ctx, name, func(cm *corev1.ConfigMap) error {
		return setWidgetConfigMap(cm, obj)
	}, &kube.ModifyOptions{FieldManager: FieldManager})
	if err != nil {
		return kube.Action{}, err
	}
	action, eventType, status := kube.AwaitChange(), kube.EventNormal, widgetStatus(obj, cm)
	if !metav1.IsControlledBy(cm, obj) { // the deletion of a ConfigMap without a controller causes no run
		action, eventType = kube.RequeueAfter(time.Minute), kube.EventWarning
	}
	ready, old := status.Status.Conditions[0], meta.FindStatusCondition(obj.Status.Conditions, v1.WidgetReady)
	if old == nil || old.ObservedGeneration != obj.Generation || old.Reason != ready.Reason {
		r.recorder.Event(obj, kube.Event{Type: eventType, Reason: ready.Reason, Action: "Publish", Note: ready.Message})
	}
	// If nothing has changed, the server writes nothing.
	_, err = r.objects.Status().Apply(ctx, status, &kube.ApplyOptions{FieldManager: FieldManager, Force: true})
	return action, err
}

// cleanup removes what the cluster does not remove automatically. The ConfigMap is deleted with its owner. Delete here
// what the controller has created outside of the cluster. The object is kept until cleanup returns no error.
func (r *widgetReconciler) cleanup(_ context.Context, obj *v1.Widget) (kube.Action, error) {
	r.recorder.Event(obj, kube.Event{Reason: "Removed", Action: "Cleanup", Note: "removed what was outside of the cluster"})
	return kube.AwaitChange(), nil
}

// setWidgetConfigMap sets the fields of the ConfigMap of an object. It does not change a ConfigMap that exists and does
// not belong to the object, such as one that a user has created.
func setWidgetConfigMap(cm *corev1.ConfigMap, obj *v1.Widget) error {
	if cm.UID != "" && !metav1.IsControlledBy(cm, obj) {
		return nil
	}
	cm.Data = map[string]string{"message": obj.Spec.Message}
	return kube.SetController(cm, obj)
}

// widgetStatus returns an object with only its identity and its new status.
func widgetStatus(obj *v1.Widget, cm *corev1.ConfigMap) *v1.Widget {
	status := v1.WidgetStatus{ObservedGeneration: obj.Generation, ConfigMap: cm.Name}
	ready := metav1.Condition{
		Type: v1.WidgetReady, Status: metav1.ConditionTrue, Reason: "Published",
		Message: "published in configmap " + cm.Name, ObservedGeneration: obj.Generation,
	}
	if !metav1.IsControlledBy(cm, obj) {
		status.ConfigMap = ""
		ready.Status, ready.Reason = metav1.ConditionFalse, "NameTaken"
		ready.Message = "configmap " + cm.Name + " exists and does not belong to this object: " +
			"delete the configmap, or use another name for the object"
	}
	// Without the conditions of other controllers, which the apply would take over.
	if old := meta.FindStatusCondition(obj.Status.Conditions, v1.WidgetReady); old != nil {
		status.Conditions = append(status.Conditions, *old)
	}
	meta.SetStatusCondition(&status.Conditions, ready) // keeps the time of the last transition
	return &v1.Widget{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name}, Status: status}
}
