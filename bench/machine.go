// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/bench/internal/applied"
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

func machineFigures() []*figure {
	pass, idle, plain := passTrial("machine/pass"), idleTrial("machine/idle-ours", startMachine),
		idleTrial("machine/idle-plain", startPlain)
	return []*figure{
		{
			name: "state machine: CPU of a pass without changes", unit: inUS, ours: value{"", pass, "ours"},
			peers: []value{{"plain reconcile", pass, "plain"}}, bar: bar{ratio: 1.15},
		},
		{
			name: "state machine: writes of passes without changes", unit: inCount, ours: value{"", pass, "writes"},
			bar: bar{limit: 0.5},
		},
		{
			name: "state machine: heap per idle object", unit: inBytes, ours: value{"", idle, "bytes"},
			peers: []value{{"plain reconcile", plain, "bytes"}}, bar: bar{more: 1024},
		},
	}
}

// widget is an object that needs a config map. A machine reconciles it.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   widgetSpec   `json:"spec"`
	Status widgetStatus `json:"status"`
}

type widgetSpec struct {
	Greeting string `json:"greeting"`
}

type widgetStatus struct {
	machine.Status `json:",inline"`

	Settings string `json:"settings,omitempty"`
}

// DeepCopyInto copies a status.
func (s *widgetStatus) DeepCopyInto(out *widgetStatus) {
	*out = *s
	s.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject implements runtime.Object.
func (w *widget) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	w.Status.DeepCopyInto(&c.Status)
	return &c
}

// KubeResource implements core.Describer.
func (*widget) KubeResource() core.Resource {
	return core.Resource{Group: "bench.example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
}

// gadget is a widget that a plain reconcile reconciles.
type gadget struct{ widget }

// KubeResource implements core.Describer.
func (*gadget) KubeResource() core.Resource {
	return core.Resource{Group: "bench.example.com", Version: "v1", Kind: "Gadget", Plural: "gadgets", Namespaced: true}
}

// widgetManager is the name of the machine, and of the plain reconcile.
const widgetManager = "bench.example.com/widget"

// newWidgets returns a server with as many widgets as gadgets. They have the finalizer that the machine would add.
func newWidgets(n int) (http.Handler, error) {
	configMaps, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		return nil, err
	}
	kinds := []core.Resource{(*widget)(nil).KubeResource(), (*gadget)(nil).KubeResource()}
	s := applied.New(append(kinds, configMaps)...)
	for i := range n {
		for _, res := range kinds {
			w := &widget{Spec: widgetSpec{Greeting: "hello"}}
			w.Namespace, w.Name = fmt.Sprintf("team-%03d", i/100), fmt.Sprintf("%s-%06d", res.Plural, i)
			w.Labels = map[string]string{"app.kubernetes.io/name": res.Plural, "app.kubernetes.io/instance": w.Name}
			w.Finalizers = []string{widgetManager}
			data, err := wire.Marshal(w, res, wire.JSON)
			if err != nil {
				return nil, err
			}
			var sent map[string]any
			if err := wire.UnmarshalJSON(data, &sent); err != nil {
				return nil, err
			}
			path := "/apis/" + res.APIVersion() + "/namespaces/" + w.Namespace + "/" + res.Plural + "/" + w.Name
			if _, err := s.Apply(path, sent); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// settings returns the config map of a widget.
func settings(w *widget) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Labels: map[string]string{"app": "widget"}},
		Data:       map[string]string{"greeting": w.Spec.Greeting},
	}
}

// The states of the machine.
type (
	provision struct{}
	served    struct{}

	fromProvision interface{ fromProvision() }
)

func (served) fromProvision() {}

// Step implements fsm.State.
func (provision) Step(c *fsm.Ctx[widget], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
	c.Apply(inventory.Declaration{Object: settings(c.Obj)})
	return to.Go(served{})
}

// Step implements fsm.State.
func (served) Step(c *fsm.Ctx[widget], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	c.Obj.Status.Settings = c.Obj.Name
	return fsm.Done(to)
}

// machineReconcile returns the reconcile of a machine.
func machineReconcile(c *client.Client, views []inventory.View) controller.Reconcile[widget] {
	m := fsm.New[widget](c, widgetManager, &fsm.Options{Views: views})
	fsm.Add(m, provision{})
	fsm.Add(m, served{})
	return m.Reconcile
}

// plainReconcile returns a reconcile that does the same without a machine.
func plainReconcile(c *client.Client, views []inventory.View) controller.Reconcile[gadget] {
	outputs := inventory.New(c, widgetManager, &inventory.Options{Views: views})
	gadgets := client.ClusterWide[gadget](c)
	return func(ctx context.Context, g *gadget) (controller.Action, error) {
		before := new(widgetStatus)
		g.Status.DeepCopyInto(before)
		store := func(ctx context.Context, status *widgetStatus) error {
			next := &gadget{widget{Status: *status}}
			next.Name, next.UID = g.Name, g.UID
			_, err := gadgets.In(g.Namespace).Status().Apply(ctx, next,
				&request.ApplyOptions{FieldManager: widgetManager, Force: true, SendZeroValues: true})
			return err
		}
		pass := outputs.Begin(g, g.Status.Inventory, func(ctx context.Context, items []machine.Item) error {
			status := *before
			status.Inventory = items
			return store(ctx, &status)
		})
		waiting, err := pass.Apply(ctx, inventory.Declaration{Object: settings(&g.widget)})
		if err == nil && waiting == "" {
			waiting, err = pass.Prune(ctx, nil)
		}
		if err != nil || waiting != "" {
			return controller.RequeueAfter(time.Second), err
		}
		g.Status.Inventory, g.Status.Settings = pass.Items(), g.Name
		for _, typ := range []string{"provision", "served", "Ready"} {
			meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{
				Type: typ, Status: metav1.ConditionTrue, Reason: "Completed", ObservedGeneration: g.Generation,
			})
		}
		if reflect.DeepEqual(before, &g.Status) {
			return controller.AwaitChange(), nil
		}
		return controller.AwaitChange(), store(ctx, &g.Status)
	}
}

// reconciling is a controller that reconciles all widgets or gadgets of the trial.
type reconciling struct {
	*running

	all    func() // reconciles all objects
	objs   int64
	runs   atomic.Int64
	ended  chan struct{} // has an element when each object was reconciled
	writes atomic.Int64
	failed atomic.Pointer[error] // the last error of a run
}

func startMachine(ctx context.Context, e *env) (*reconciling, error) {
	return startWidgets[widget](ctx, e, machineReconcile)
}

func startPlain(ctx context.Context, e *env) (*reconciling, error) {
	return startWidgets[gadget](ctx, e, plainReconcile)
}

// startWidgets starts a controller, and waits until nothing changes any more. Then it has one worker.
func startWidgets[K any, P core.ObjectPtr[K]](
	ctx context.Context, e *env, of func(c *client.Client, views []inventory.View) controller.Reconcile[K],
) (*reconciling, error) {
	r := &reconciling{objs: int64(e.objects), ended: make(chan struct{}, 1)}
	e.wrap = func(next http.RoundTripper) http.RoundTripper { return countWrites{next, &r.writes} }
	c, err := newClient(ctx, e)
	if err != nil {
		return nil, err
	}
	shared := cache.New(c, nil)
	maps := cache.Of[corev1.ConfigMap](shared, nil)
	reconcile := of(c, []inventory.View{maps})
	ctl := controller.New(controller.For[K, P](shared), quiet(8)).Owns(controller.SourceView(maps))
	r.all = ctl.ReconcileAll
	r.running = start(ctx, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, obj *K) (controller.Action, error) {
			action, err := reconcile(ctx, obj)
			if err != nil {
				r.failed.Store(&err)
			}
			if r.runs.Add(1) == r.objs {
				r.ended <- struct{}{}
			}
			return action, err
		})
	})
	_, err = await(r.running, r.ended)
	for last := int64(-1); err == nil && r.writes.Load() != last; {
		last = r.writes.Load()
		<-time.After(max(e.time, 100*time.Millisecond))
		if failed := r.failed.Load(); failed != nil {
			err = *failed
		}
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	ctl.Resize(1)
	return r, nil
}

// round reconciles each object once, and returns the CPU time for one, in seconds.
func (r *reconciling) round() (float64, error) {
	used := cpu()
	r.runs.Store(0)
	r.all()
	_, err := await(r.running, r.ended)
	if failed := r.failed.Load(); err == nil && failed != nil {
		err = *failed
	}
	return (cpu() - used).Seconds() / float64(r.objs), err
}

// passTrial measures the CPU time of a pass without changes of a machine, and of a plain reconcile, from the queue to
// the end of the run. The rounds take turns in one process, so that other programs slow both down.
func passTrial(name string) *trial {
	return &trial{name: name, limit: 2000, stores: newWidgets, run: func(ctx context.Context, e *env) (values, error) {
		ours, err := startMachine(ctx, e)
		if err != nil {
			return nil, err
		}
		defer ours.stop()
		plain, err := startPlain(ctx, e)
		if err != nil {
			return nil, err
		}
		defer plain.stop()
		written := ours.writes.Load()
		var costs, plains []float64
		for until := time.Now().Add(8 * e.time); len(costs) < 5 || time.Now().Before(until); {
			cost, err := ours.round()
			if err != nil {
				return nil, err
			}
			plainCost, err := plain.round()
			if err != nil {
				return nil, err
			}
			costs, plains = append(costs, cost), append(plains, plainCost)
		}
		return values{"ours": mean(costs), "plain": mean(plains), "writes": float64(ours.writes.Load() - written)}, nil
	}}
}

func mean(all []float64) (mean float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	return mean
}

// idleTrial measures the heap for an object that a controller has reconciled.
func idleTrial(name string, open func(ctx context.Context, e *env) (*reconciling, error)) *trial {
	t := &trial{name: name, limit: someObjects, stores: newWidgets}
	t.run = func(ctx context.Context, e *env) (values, error) {
		before := reachable()
		r, err := open(ctx, e)
		if err != nil {
			return nil, err
		}
		defer r.stop()
		if _, err := r.round(); err != nil {
			return nil, err
		}
		return values{"bytes": (reachable().bytes - before.bytes) / float64(e.objects)}, nil
	}
	return t
}

// countWrites counts the requests that write.
type countWrites struct {
	next   http.RoundTripper
	writes *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c countWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.next.RoundTrip(r)
}
