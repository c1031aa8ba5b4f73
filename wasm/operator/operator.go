// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/install"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// hostCheck is the time between two comparisons of the status of the host.
const hostCheck = time.Second

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Namespace is the namespace of the objects. Default: all namespaces.
	Namespace string

	// Store pulls the modules of objects with an image. Default: none; such objects do not run.
	Store *registry.Store

	// Files is the directory with the modules of objects with a file. All users who may create a WasmController may run
	// the modules in it. Default: none; such objects do not run.
	Files string

	// MaxSize is the maximum size of the modules in Files, in bytes. Default: [registry.DefaultMaxSize].
	MaxSize int64

	// Origins are the servers that objects may list in their origins, such as https://hooks.example.com. The modules send
	// their requests from the network of this program. Default: none; objects with another origin do not run.
	Origins []string

	// Logger logs failed runs. Default: [slog.Default].
	Logger *slog.Logger
}

// Operator runs the modules of WasmController objects in a host. Create one with [New]. It embeds the runner of its
// controller, so that a manager sees its health and its metrics.
type Operator struct {
	*controller.Runner

	host    *host.Host
	modules *modules
	wakes   *wakes
}

// New returns an operator for the objects of the server of a client. The host must run meanwhile. The server must have
// the kind, see [Install].
func New(c *client.Client, h *host.Host, o *Options) (*Operator, error) {
	var options Options
	if o != nil {
		options = *o
	}
	if c == nil || h == nil {
		return nil, errors.New("operator: the client or the host is nil")
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	for _, origin := range options.Origins {
		if !isOrigin(origin) {
			return nil, fmt.Errorf("operator: Options.Origins has %q, want a scheme and a host, such as "+
				"https://hooks.example.com", origin)
		}
	}
	op := &Operator{host: h, wakes: newWakes()}
	op.modules = &modules{
		host: h, store: options.Store, maxSize: options.MaxSize, origins: slices.Clone(options.Origins), jobs: newJobs(op.wakes.add),
		pulling: make(chan struct{}, pulls), compiling: make(chan struct{}, compiles), all: make(map[string]*record),
	}
	if options.Files != "" {
		root, err := os.OpenRoot(options.Files)
		if err != nil {
			return nil, fmt.Errorf("operator: Options.Files: %w", err)
		}
		op.modules.root = root
	}
	op.modules.recorder = events.NewRecorder(c, &events.Options{Controller: Name, Logger: options.Logger})
	machine := newMachine(c, op.modules)
	objects := cache.Of[v1alpha1.WasmController](cache.New(c, &cache.Options{Logger: options.Logger}),
		&cache.Selection{Namespace: options.Namespace})
	op.Runner = controller.New(controller.ForView(objects), &controller.Options{Logger: options.Logger, OnGone: op.gone}).
		Watches(controller.On(op.woken)).With(machine.Reconcile)
	return op, nil
}

// Install installs the kind.
func Install(ctx context.Context, c *client.Client) error {
	crd := new(unstructured.Unstructured)
	if err := crd.UnmarshalJSON((*v1alpha1.WasmController)(nil).KubeCRD()); err != nil {
		return err
	}
	return install.CRDs(ctx, c, []*unstructured.Unstructured{crd}, &install.Options{FieldManager: "kube-wasm"})
}

// Run runs the modules until ctx ends, and returns the cause. Then it removes them from the host.
func (o *Operator) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	o.modules.jobs.begin(ctx)
	others.Go(func() {
		if err := o.modules.recorder.Run(ctx); err != nil {
			stop(err)
		}
	})
	others.Go(func() { o.watchHost(ctx) })
	err := o.Runner.Run(ctx)
	stop(err)
	o.modules.jobs.end()
	o.modules.clear(ctx)
	others.Wait()
	return err
}

// woken returns the objects that need a pass.
func (o *Operator) woken(ctx context.Context) iter.Seq[controller.Key] {
	return func(yield func(controller.Key) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-o.wakes.more:
			}
			for name := range o.wakes.take() {
				if !yield(controller.Key{Ref: refOf(name)}) {
					return
				}
			}
		}
	}
}

// watchHost causes passes of the objects whose modules have changed in the host.
func (o *Operator) watchHost(ctx context.Context) {
	ticker := time.NewTicker(hostCheck)
	defer ticker.Stop()
	before := make(map[string]seen)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := make(map[string]seen, len(before))
		for _, s := range o.host.Status() {
			now[s.Name] = seen{s.Phase, s.Digest, s.Failures, s.Since}
		}
		for name := range changed(before, now) {
			if o.modules.owns(name) {
				o.wakes.add(name)
			}
		}
		before = now
	}
}

// seen is what a pass depends on.
type seen struct {
	phase    host.Phase
	digest   string
	failures int
	since    time.Time
}

// changed returns the names of the modules that differ.
func changed(before, now map[string]seen) map[string]bool {
	names := make(map[string]bool)
	for name, s := range now {
		if old, ok := before[name]; !ok || old != s {
			names[name] = true
		}
	}
	for name := range maps.Keys(before) {
		if _, ok := now[name]; !ok {
			names[name] = true
		}
	}
	return names
}

// gone removes the module of an object that was deleted without its finalizer.
func (o *Operator) gone(_ context.Context, key controller.Key) {
	name := key.Ref.Namespace + "/" + key.Ref.Name
	if o.modules.owns(name) {
		_ = o.modules.remove(name) // nobody needs the result
	} else {
		o.modules.jobs.cancel(name) // it may be about to add the module
	}
	o.modules.jobs.forget(name)
}
