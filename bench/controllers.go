// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	peer "sigs.k8s.io/controller-runtime/pkg/client"
	peerconfig "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

// kind is a kind of the server's objects.
type kind string

const (
	configMaps kind = "configmaps"
	pods       kind = "pods"
)

// object returns an object of the server.
func (k kind) object(i int) peer.Object {
	if k == pods {
		return objects.Pod(i)
	}
	return objects.ConfigMap(i)
}

// empty returns an object to read into.
func (k kind) empty() peer.Object {
	if k == pods {
		return &corev1.Pod{}
	}
	return &corev1.ConfigMap{}
}

// reconciled is called at the start of each reconcile. read returns the value of the annotation replay.Sent of the
// object, which it reads from the cache.
type reconciled func(read func() (sent string, err error)) error

// starter returns the function that runs a controller of a kind with one worker. The controller also reconciles all
// objects when a node changes.
type starter func(ctx context.Context, e *env, k kind, do reconciled) (run func(context.Context) error, err error)

func startOurs(ctx context.Context, e *env, k kind, do reconciled) (func(context.Context) error, error) {
	if k == pods {
		return startOurKind[corev1.Pod](ctx, e, k, do)
	}
	return startOurKind[corev1.ConfigMap](ctx, e, k, do)
}

func startOurKind[K any, P core.ObjectPtr[K]](
	ctx context.Context, e *env, k kind, do reconciled,
) (func(context.Context) error, error) {
	c, err := newClient(ctx, e)
	if err != nil {
		return nil, err
	}
	all := make([]core.ObjectRef, e.objects)
	for i := range all {
		all[i] = core.RefOf(k.object(i))
	}
	shared := cache.New(c, nil)
	nodes := cache.Of[corev1.Node](shared, nil)
	every := controller.SourceView(nodes).Map(func(_ context.Context, node *corev1.Node) ([]core.ObjectRef, error) {
		if node.Annotations[replay.Sent] == "" {
			return nil, nil
		}
		return all, nil
	})
	ctl := controller.New(controller.For[K, P](shared), quiet(1)).Watches(every)
	return func(ctx context.Context) error {
		return ctl.Run(ctx, func(_ context.Context, obj *K) (controller.Action, error) {
			return controller.AwaitChange(), do(func() (string, error) { return P(obj).GetAnnotations()[replay.Sent], nil })
		})
	}, nil
}

// quiet returns the options of a controller that logs nothing.
func quiet(concurrency int) *controller.Options {
	return &controller.Options{Concurrency: concurrency, Logger: slog.New(slog.DiscardHandler)}
}

func startClassic(ctx context.Context, e *env, k kind, do reconciled) (func(context.Context) error, error) {
	return startPeer(ctx, e, k, do, peerconfig.Options{UsePriorityQueue: new(false)})
}

func startDefault(ctx context.Context, e *env, k kind, do reconciled) (func(context.Context) error, error) {
	return startPeer(ctx, e, k, do, peerconfig.Options{})
}

// startPeer is a starter for controller-runtime.
func startPeer(
	_ context.Context, e *env, k kind, do reconciled, o peerconfig.Options,
) (func(context.Context) error, error) {
	m, err := newManager(e)
	if err != nil {
		return nil, err
	}
	all := make([]reconcile.Request, e.objects)
	for i := range all {
		all[i].NamespacedName = types.NamespacedName{Namespace: k.object(i).GetNamespace(), Name: k.object(i).GetName()}
	}
	every := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, node peer.Object) []reconcile.Request {
		if node.GetAnnotations()[replay.Sent] == "" {
			return nil
		}
		return all
	})
	o.SkipNameValidation, o.MaxConcurrentReconciles = new(true), 1
	c := m.GetClient()
	builder := ctrl.NewControllerManagedBy(m).For(k.empty()).Watches(&corev1.Node{}, every)
	err = builder.WithOptions(o).Named("bench").Complete(
		reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, do(func() (string, error) {
				obj := k.empty()
				err := c.Get(ctx, r.NamespacedName, obj)
				return obj.GetAnnotations()[replay.Sent], err
			})
		}),
	)
	return m.Start, err
}

// newManager returns a manager of controller-runtime without servers.
func newManager(e *env) (manager.Manager, error) {
	log.SetLogger(logr.Discard())
	return manager.New(&rest.Config{Host: e.url, QPS: -1, WrapTransport: e.wrap}, manager.Options{
		Scheme:                 scheme.Scheme,
		Logger:                 logr.Discard(),
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			m := meta.NewDefaultRESTMapper(nil)
			m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
			m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
			m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
			return m, nil
		},
	})
}

// running is something that runs until its end is requested.
type running struct {
	cancel context.CancelFunc
	ended  chan error
}

func start(ctx context.Context, run func(context.Context) error) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- run(ctx) }() // stop waits for it
	return r
}

// stop ends it and waits.
func (r *running) stop() {
	r.cancel()
	r.ended <- <-r.ended
}

// await waits for a value. It returns an error if the running ends first.
func await[T any](r *running, c <-chan T) (T, error) {
	select {
	case v := <-c:
		return v, nil
	case err := <-r.ended:
		r.ended <- err
		var zero T
		return zero, errors.Join(errors.New("it has stopped early"), err)
	}
}
