// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// hostCheck is the time between two comparisons of the status of the host.
const hostCheck = time.Second

// Options are the options of [New]. Those without a comment are options of package operator.
type Options struct {
	Name    string // of the machine; required
	Store   *registry.Store
	Files   string
	Origins []string
	Logger  *slog.Logger // required
}

// New returns the modules of objects in a host. Its errors are those of package operator.
func New(c *client.Client, h *host.Host, o *Options) (*Modules, error) {
	for _, origin := range o.Origins {
		if err := host.CheckOrigin(origin); err != nil {
			return nil, fmt.Errorf("operator: Options.Origins: %w", err)
		}
	}
	if o.Files != "" {
		if err := checkDirectory(o.Files); err != nil {
			return nil, fmt.Errorf("operator: Options.Files: %w", err)
		}
	}
	m := &Modules{
		host: h, store: o.Store, files: o.Files, origins: slices.Clone(o.Origins),
		recorder: events.NewRecorder(c, &events.Options{Controller: o.Name, Logger: o.Logger}),
		pulling:  make(chan struct{}, pulls), compiling: make(chan struct{}, compiles),
		wakes: newWakes(), all: make(map[string]*record),
	}
	m.jobs = newJobs(m.wakes.add)
	m.machine = newMachine(c, o.Name, m)
	return m, nil
}

// checkDirectory returns an error if a path is not that of a directory.
func checkDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}

// Reconcile performs a pass of the state machine. It is called during Run.
func (m *Modules) Reconcile(ctx context.Context, obj *v1alpha1.WasmController) (controller.Action, error) {
	return m.machine.Reconcile(ctx, obj)
}

// Run calls reconciles, which runs a controller with [Modules.Reconcile] until its context ends. Then it removes the
// modules from the host.
func (m *Modules) Run(ctx context.Context, reconciles func(context.Context) error) error {
	if err := m.open(); err != nil {
		return fmt.Errorf("operator: Options.Files: %w", err)
	}
	defer m.close()
	ctx, stop := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	m.jobs.begin(ctx)
	others.Go(func() {
		if err := m.recorder.Run(ctx); err != nil {
			stop(err)
		}
	})
	others.Go(func() { m.watchHost(ctx) })
	err := reconciles(ctx)
	stop(err)
	m.clear(ctx) // at once: a job ends only when the host has compiled its module
	m.jobs.end()
	m.clear(ctx) // what a job has added meanwhile
	others.Wait()
	return err
}

// open opens the directory of the files. It is called before a job or a pass begins.
func (m *Modules) open() (err error) {
	if m.files != "" {
		m.root, err = os.OpenRoot(m.files)
	}
	return err
}

// close closes the directory of the files. It is called after all jobs and passes have ended.
func (m *Modules) close() {
	if m.root != nil {
		_ = m.root.Close() // it was only read
	}
}

// Woken returns the objects that need a pass, until ctx ends.
func (m *Modules) Woken(ctx context.Context) iter.Seq[controller.Key] {
	return func(yield func(controller.Key) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-m.wakes.more:
			}
			for name := range m.wakes.take() {
				if !yield(controller.Key{Ref: refOf(name)}) {
					return
				}
			}
		}
	}
}

// Gone removes the module of an object that was deleted without its finalizer.
func (m *Modules) Gone(_ context.Context, key controller.Key) {
	name := key.Ref.Namespace + "/" + key.Ref.Name
	// An active job may add the module, also after its context has ended. One that is not active has done it before.
	if m.jobs.active(name) || m.owns(name) {
		_ = m.remove(name) // nobody needs the result
	}
	m.jobs.forget(name)
}

// watchHost causes passes of the objects whose modules have changed in the host.
func (m *Modules) watchHost(ctx context.Context) {
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
		for _, s := range m.host.Status() {
			now[s.Name] = seenOf(s)
		}
		for name := range changed(before, now) {
			if m.owns(name) {
				m.wakes.add(name)
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
	blocked  string
}

func seenOf(s host.Status) seen {
	at := seen{phase: s.Phase, digest: s.Digest, failures: s.Failures}
	if s.Blocked != nil {
		at.blocked = s.Blocked.Error()
	}
	return at
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
