// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/reflector"
)

// dynamic is a view of objects without a Go type.
type dynamic = cache.View[unstructured.Unstructured]

// reconciler runs the controllers of a guest with the profile of that name.
type reconciler struct {
	guest  *guest
	events *events.Recorder
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu   sync.Mutex
	idle []*instance // that are not used
}

// startReconciler starts the controllers of a guest. The instance that has described them is the first to be used.
func (g *guest) startReconciler(first *instance) (*reconciler, error) {
	if len(g.description.Controllers) == 0 {
		return nil, fmt.Errorf("%s: controllers is empty", abi.Describe)
	}
	ctx, stop := context.WithCancel(g.host.ctx)
	r := &reconciler{guest: g, stop: stop, idle: []*instance{first}}
	r.events = events.NewRecorder(g.client, &events.Options{Controller: g.module.Name, Logger: g.logger})
	r.ended.Go(func() { _ = r.events.Run(ctx) }) // it returns the end of its context
	for _, c := range g.description.Controllers {
		run, err := r.controller(c)
		if err != nil {
			stop()
			r.ended.Wait()
			return nil, fmt.Errorf("%s: controller %q: %w", abi.Describe, c.Name, err)
		}
		r.ended.Go(func() {
			if err := r.authorized(ctx, append(c.Owns, c.For), run); ctx.Err() == nil {
				g.broken(fmt.Errorf("controller %q: %w", c.Name, err))
			}
		})
	}
	return r, nil
}

// authorized runs a controller whenever the module may read the objects of its watches.
func (r *reconciler) authorized(ctx context.Context, watches []abi.Watch, run func(context.Context) error) error {
	for {
		err := r.guarded(ctx, watches, run)
		if _, ok := errors.AsType[*abi.Error](err); !ok || ctx.Err() != nil {
			return err
		}
		r.guest.note(err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(reauthorize):
		}
	}
}

// reauthorize is the time after which a controller that may not read its objects tries again.
const reauthorize = 10 * time.Second

// guarded runs a controller until the module may no longer read the objects of its watches.
func (r *reconciler) guarded(ctx context.Context, watches []abi.Watch, run func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	var guards sync.WaitGroup
	defer guards.Wait()
	defer stop(nil)
	for _, w := range watches {
		if err := r.guest.authorize(ctx, &w); err != nil {
			return err
		}
		guards.Go(func() {
			if err := r.guest.guard(ctx, &w); err != nil {
				stop(err)
			}
		})
	}
	return run(ctx)
}

// end stops the controllers and discards the instances.
func (r *reconciler) end(cause error) {
	r.stop()
	r.ended.Wait()
	for _, i := range r.idle {
		i.end(cause)
	}
}

// controller returns a function that runs a controller.
func (r *reconciler) controller(c abi.Controller) (func(context.Context) error, error) {
	primary, err := r.guest.host.dynamic(&c.For)
	if err != nil {
		return nil, fmt.Errorf("for: %w", err)
	}
	ctl := controller.New(controller.ForView(primary), &controller.Options{Name: c.Name, Logger: r.guest.logger})
	owned := make([]*dynamic, len(c.Owns))
	for n, w := range c.Owns {
		if owned[n], err = r.guest.host.dynamic(&w); err != nil {
			return nil, fmt.Errorf("owns: %w", err)
		}
		ctl.Owns(controller.SourceView(owned[n]))
	}
	return func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, obj *unstructured.Unstructured) (controller.Action, error) {
			return r.reconcile(ctx, &c, owned, obj)
		})
	}, nil
}

// dynamic returns a view of the objects that a watch selects.
func (h *Host) dynamic(w *abi.Watch) (*dynamic, error) {
	if w.Projection != abi.ProjectionFull || w.KeysOnly {
		return nil, errors.New("projection and keysOnly are not supported for controllers")
	}
	res := resourceOf(w)
	if err := res.Validate(); err != nil {
		return nil, err
	}
	return cache.OfResource[unstructured.Unstructured](h.cache, res, selectionOf(w)), nil
}

// reconcile calls the guest for an object, and does what it returns.
func (r *reconciler) reconcile(
	ctx context.Context, c *abi.Controller, owned []*dynamic, obj *unstructured.Unstructured,
) (controller.Action, error) {
	in := abi.ReconcileRequest{Controller: c.Name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	var err error
	if in.Object, err = wire.MarshalJSON(obj); err != nil {
		return controller.Action{}, err
	}
	for _, v := range owned {
		for o, err := range v.Store().All(&reflector.SelectOptions{Owner: obj.GetUID()}) {
			if err != nil {
				return controller.Action{}, err
			}
			data, err := wire.MarshalJSON(o)
			if err != nil {
				return controller.Action{}, err
			}
			in.Owned = append(in.Owned, data)
		}
	}
	out, err := r.call(&in)
	if err != nil {
		return controller.Action{}, err
	}
	if err := r.perform(ctx, c, obj, out); err != nil {
		return controller.Action{}, err
	}
	switch wait := max(out.Requeue, 0); {
	case out.Error != "":
		return controller.Action{}, errors.New(out.Error)
	case wait > 0:
		return controller.RequeueAfter(time.Duration(wait) * time.Millisecond), nil
	case c.Every > 0:
		return controller.RequeueAfter(time.Duration(c.Every) * time.Millisecond), nil
	}
	return controller.AwaitChange(), nil
}

// call calls the guest in an instance that nobody else uses. An instance that fails is discarded.
func (r *reconciler) call(in *abi.ReconcileRequest) (*abi.ReconcileResponse, error) {
	h := r.guest.host
	h.acquire()
	defer h.release()
	i, err := r.take()
	if err != nil {
		return nil, err
	}
	var out abi.ReconcileResponse
	data, _, err := i.perform(&export{Name: abi.Reconcile, Message: marshal(in)})
	if err == nil {
		if err = wire.UnmarshalJSON(data, &out); err != nil {
			err = fmt.Errorf("%s: the result: %w", abi.Reconcile, err)
		}
	}
	if err != nil {
		i.end(err)
		r.guest.trapped(err)
		return nil, err
	}
	r.guest.healthy()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, i)
	return &out, nil
}

// take returns an instance that is not used.
func (r *reconciler) take() (*instance, error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		i := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return i, nil
	}
	r.mu.Unlock()
	return r.guest.newInstance()
}

// trapped records that a call has failed. The controller repeats it later; after too many failures in succession, the
// module is quarantined.
func (g *guest) trapped(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.Failures++
	g.lifecycle.failures++
	g.lifecycle.err = err
	if g.lifecycle.phase == Running && g.lifecycle.failures >= g.lifecycle.maxFailures {
		g.lifecycle.phase, g.lifecycle.since = Quarantined, time.Now()
		g.logger.LogAttrs(context.Background(), slog.LevelError, "module is quarantined",
			slog.Any("err", err), slog.Int("failures", g.lifecycle.failures))
		g.schedule()
	}
}

// note records an error that does not end the module.
func (g *guest) note(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.err = err
	g.logger.LogAttrs(context.Background(), slog.LevelWarn, "controller is not running", slog.Any("err", err))
}

// healthy records that a call has succeeded.
func (g *guest) healthy() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.failures = 0
}

// broken records that the controllers can't run.
func (g *guest) broken(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.err = err
	if g.lifecycle.phase == Running {
		g.lifecycle.phase, g.lifecycle.since = Quarantined, time.Now()
		g.logger.LogAttrs(context.Background(), slog.LevelError, "module is quarantined", slog.Any("err", err))
		g.schedule()
	}
}

// perform applies, deletes and records what a guest has returned.
func (r *reconciler) perform(
	ctx context.Context, c *abi.Controller, obj *unstructured.Unstructured, out *abi.ReconcileResponse,
) error {
	apply := &request.ApplyOptions{FieldManager: "wasm-" + r.guest.module.Name, Force: true}
	for _, data := range out.Apply {
		if err := r.apply(ctx, c, obj, data, apply); err != nil {
			return err
		}
	}
	for _, ref := range out.Delete {
		res, err := r.resource(ctx, ref.APIVersion, ref.Kind)
		if err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		api := client.Dynamic(r.guest.client, res).In(ref.Namespace)
		err = api.Delete(ctx, ref.Name, &request.DeleteOptions{UID: types.UID(ref.UID)})
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	if err := r.status(ctx, c, obj, out.Status, apply); err != nil {
		return err
	}
	for _, e := range out.Events {
		r.events.Event(obj, events.Event{Type: events.Type(e.Type), Reason: e.Reason, Note: e.Message})
	}
	return nil
}

// apply applies an object. If its kind is one that the controller owns, the reconciled object becomes its owner.
func (r *reconciler) apply(
	ctx context.Context, c *abi.Controller, owner *unstructured.Unstructured, data jsontext.Value, o *request.ApplyOptions,
) error {
	obj := new(unstructured.Unstructured)
	if err := wire.UnmarshalJSON(data, obj); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	res, err := r.resource(ctx, obj.GetAPIVersion(), obj.GetKind())
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	for _, w := range c.Owns {
		if w.Group == res.Group && w.Kind == res.Kind && obj.GetOwnerReferences() == nil {
			obj.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}})
		}
	}
	_, err = client.Dynamic(r.guest.client, res).Apply(ctx, obj, o)
	return err
}

// status writes the status of the reconciled object, unless it has it already.
func (r *reconciler) status(
	ctx context.Context, c *abi.Controller, obj *unstructured.Unstructured, data jsontext.Value, o *request.ApplyOptions,
) error {
	if len(data) == 0 {
		return nil
	}
	var status map[string]any
	if err := wire.UnmarshalJSON(data, &status); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if reflect.DeepEqual(obj.Object["status"], any(status)) {
		return nil
	}
	next := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	next.SetAPIVersion(obj.GetAPIVersion())
	next.SetKind(obj.GetKind())
	next.SetNamespace(obj.GetNamespace())
	next.SetName(obj.GetName())
	next.SetUID(obj.GetUID())
	_, err := client.Dynamic(r.guest.client, resourceOf(&c.For)).Status().Apply(ctx, next, o)
	return err
}

// resource returns the resource of a kind.
func (r *reconciler) resource(ctx context.Context, apiVersion, kind string) (core.Resource, error) {
	for _, c := range r.guest.description.Controllers {
		for _, w := range append(c.Owns, c.For) {
			if res := resourceOf(&w); res.APIVersion() == apiVersion && res.Kind == kind {
				return res, nil
			}
		}
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return core.Resource{}, err
	}
	d, err := discovery.Discover(ctx, r.guest.client, &discovery.Options{Cache: r.guest.host.discovered})
	if err != nil {
		return core.Resource{}, err
	}
	return d.ForKind(gv.WithKind(kind))
}
