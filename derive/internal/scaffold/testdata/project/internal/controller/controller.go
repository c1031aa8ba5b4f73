package controller

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

const (
	// Manager owns the fields that the controller applies.
	Manager = "widget-controller"
	// Finalizer keeps an object until its cleanup is done.
	Finalizer = "group.example.com/cleanup"
)

// Install installs the CustomResourceDefinition and waits until the server serves the kind.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := kube.CRD[v1.Widget]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, &kube.InstallOptions{FieldManager: Manager})
}

// Controller does what the objects of the kind Widget ask for. Make one with [New].
type Controller struct {
	loop       *kube.Controller[v1.Widget]
	objects    *kube.API[v1.Widget]
	configMaps *kube.API[corev1.ConfigMap]
	recorder   *kube.Recorder
}

// New returns a controller that tells the logger what becomes of each object; nil is nobody.
func New(c *kube.Client, logger *slog.Logger) *Controller {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	// The cache holds one watch for each kind, however many controllers share it.
	cache := kube.NewCache(c, &kube.CacheOptions{Logger: logger})
	loop := kube.NewController(kube.For[v1.Widget](cache), &kube.ControllerOptions{
		Logger: logger,
		OnResult: func(res kube.Result) {
			if res.Err == nil { // the others are logged anyway
				logger.Info("reconciled", "object", res.Key.String(), "next", res.Action.String(), "took", res.Took)
			}
		},
	}).Owns(kube.Source[corev1.ConfigMap](cache))
	return &Controller{
		loop:       loop,
		objects:    kube.ClusterWide[v1.Widget](c),
		configMaps: kube.ClusterWide[corev1.ConfigMap](c),
		recorder:   kube.NewRecorder(c, &kube.RecorderOptions{Controller: "group.example.com/" + Manager, Logger: logger}),
	}
}

// Run runs the controller until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.recorder.Run(ctx) })
	group.Go(func() error { return c.loop.Run(ctx, c.reconcile) })
	return group.Wait()
}

// Ready says what the controller waits for before it can do its work; nil is nothing.
func (c *Controller) Ready() error {
	for _, source := range c.loop.Health() {
		switch {
		case source.Ready:
		case source.Err != nil:
			return source.Err
		default:
			return fmt.Errorf("waiting for the %s", source.Resource.Plural)
		}
	}
	return nil
}

// What the controller is allowed to do. `make generate` makes a ClusterRole of these lines. Who may
// update the finalizers of an object may name it as an owner that is not gone before what it owns.
//
// +kubebuilder:rbac:groups=group.example.com,resources=widgets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=group.example.com,resources=widgets/status,verbs=patch
// +kubebuilder:rbac:groups=group.example.com,resources=widgets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reconcile is told which object, never what happened to it. It may run again for work that it has done already.
func (c *Controller) reconcile(ctx context.Context, obj *v1.Widget) (kube.Action, error) {
	return kube.Finalize(ctx, c.objects, Finalizer, obj, kube.FinalizerFuncs[v1.Widget]{
		Apply:   c.apply,
		Cleanup: c.cleanup,
	})
}

// apply makes the world as the object asks, and says so in its status.
func (c *Controller) apply(ctx context.Context, obj *v1.Widget) (kube.Action, error) {
	owner, err := kube.ControllerRef(obj)
	if err != nil {
		return kube.Action{}, err
	}
	options := &kube.ApplyOptions{FieldManager: Manager, Force: true}
	if _, err := c.configMaps.Apply(ctx, configMap(obj, owner), options); err != nil {
		return kube.Action{}, err
	}
	if obj.Status.ObservedGeneration != obj.Generation { // nobody was told of this spec yet
		c.recorder.Event(obj, kube.Event{Reason: "Published", Action: "Publish", Note: "published in configmap " + obj.Name})
	}
	// When nothing has changed, the server sees that the apply is the same, and nothing is written.
	if _, err := c.objects.Status().Apply(ctx, status(obj), options); err != nil {
		return kube.Action{}, err
	}
	return kube.AwaitChange(), nil
}

// cleanup removes what the cluster does not remove by itself. The ConfigMap goes with its owner; what the controller makes
// outside of the cluster goes here. The object is kept until there is no error.
func (c *Controller) cleanup(_ context.Context, obj *v1.Widget) (kube.Action, error) {
	c.recorder.Event(obj, kube.Event{Reason: "Removed", Action: "Cleanup", Note: "removed what was outside of the cluster"})
	return kube.AwaitChange(), nil
}

// configMap returns the ConfigMap that an object asks for.
func configMap(obj *v1.Widget, owner metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       obj.Namespace,
			Name:            obj.Name,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: map[string]string{"message": obj.Spec.Message},
	}
}

// status returns an object with nothing but its identity and the status that it should have.
func status(obj *v1.Widget) *v1.Widget {
	conditions := append([]metav1.Condition{}, obj.Status.Conditions...)
	meta.SetStatusCondition(&conditions, metav1.Condition{ // keeps the time of the last transition
		Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Published",
		Message: "published in configmap " + obj.Name, ObservedGeneration: obj.Generation,
	})
	return &v1.Widget{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name},
		Status: v1.WidgetStatus{
			ObservedGeneration: obj.Generation,
			Conditions:         conditions,
			ConfigMap:          obj.Name,
		},
	}
}
