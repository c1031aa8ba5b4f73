// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/install"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/internal/lifecycle"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// Name is the name of the machine. Each WasmController has it as a finalizer.
const Name = "wasm.kube-go.dev/host"

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Namespace is the namespace of the objects. Default: all namespaces.
	Namespace string

	// Store pulls the modules of objects with an image. Default: none; such objects do not run.
	Store *registry.Store

	// Files is the directory with the modules of objects with a file, of at most 64 MiB each. All users who may create a
	// WasmController may run the modules in it. Default: none; such objects do not run.
	Files string

	// Origins are the servers that objects may list in their origins, such as https://hooks.example.com. The modules send
	// their requests from the network of this program. Default: none; objects with another origin do not run.
	Origins []string

	// Logger logs failed runs. Default: [slog.Default].
	Logger *slog.Logger
}

// Operator runs the modules of WasmController objects in a host. Create one with [New]. Only one Run may be active at a
// time. The other methods are safe for concurrent use.
//
// It can't be sharded: the end of a run does not end a module, so a module would run in two replicas when its object
// moves. Replicas of the program need a leader, see manager.Options.LeaderElection.
type Operator struct {
	runner  *controller.Runner
	modules *lifecycle.Modules
}

// New returns an operator for the objects of the server of a client. The host must run meanwhile. The server must have
// the kind, see [Install].
func New(c *client.Client, h *host.Host, o *Options) (*Operator, error) {
	var options Options
	if o != nil {
		options = *o
	}
	switch {
	case c == nil:
		return nil, errors.New("operator: the client is nil: pass the client of the API server that has the objects")
	case h == nil:
		return nil, errors.New("operator: the host is nil: pass the host that is to run the modules, see host.New")
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	m, err := lifecycle.New(c, h, &lifecycle.Options{
		Name: Name, Store: options.Store, Files: options.Files, Origins: options.Origins, Logger: options.Logger,
	})
	if err != nil {
		return nil, err
	}
	objects := cache.Of[v1alpha1.WasmController](cache.New(c, &cache.Options{Logger: options.Logger}),
		&cache.Selection{Namespace: options.Namespace})
	runner := controller.New(controller.ForView(objects), &controller.Options{Logger: options.Logger, OnGone: m.Gone}).
		Watches(controller.On(m.Woken)).With(m.Reconcile)
	return &Operator{runner, m}, nil
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
	return o.modules.Run(ctx, o.runner.Run)
}

// Standby keeps the objects synced until ctx ends, see [controller.Runner.Standby].
func (o *Operator) Standby(ctx context.Context) error { return o.runner.Standby(ctx) }

// Ready waits until Run would begin runs at once, see [controller.Runner.Ready].
func (o *Operator) Ready(ctx context.Context) error { return o.runner.Ready(ctx) }

// SyncTimeout returns the maximum time for which the first run waits for late sources.
func (o *Operator) SyncTimeout() time.Duration { return o.runner.SyncTimeout() }

// Name returns the name of the controller.
func (o *Operator) Name() string { return o.runner.Name() }

// Health returns the state of the watch of the objects.
func (o *Operator) Health() []controller.SourceHealth { return o.runner.Health() }

// Runs returns the state of the current runs of the controller, the oldest first.
func (o *Operator) Runs() []controller.RunHealth { return o.runner.Runs() }

// Metrics returns the metrics of the controller.
func (o *Operator) Metrics() controller.Metrics { return o.runner.Metrics() }

// Inspect returns what the controller does, with at most limit objects of each kind of entry.
func (o *Operator) Inspect(limit int) controller.Inspection { return o.runner.Inspect(limit) }

// Caches returns the cache of the objects.
func (o *Operator) Caches() []*cache.Cache { return o.runner.Caches() }

// Owners returns the state machine of the objects, once it has run.
func (o *Operator) Owners() []any { return o.runner.Owners() }
