// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"

	"github.com/kube-go/sdk/runtime/cache"
)

// Metrics returns the current numbers of the controller, see [Controller.Metrics].
func (r *Runner) Metrics() Metrics { return r.engine.metrics() }

// Caches returns the caches of the views of the sources, including those of engaged clusters, each once.
func (r *Runner) Caches() []*cache.Cache { return r.engine.caches() }

// Owners returns the owners of all trackers that this controller has ever had, see [Track], such as the state machines
// of package fsm that its reconcile uses.
func (r *Runner) Owners() []any { return r.engine.owners.list() }

func (e *engine) caches() (all []*cache.Cache) {
	add := func(f Feed) {
		if v, ok := f.(interface{ Cache() *cache.Cache }); ok && !slices.Contains(all, v.Cache()) {
			all = append(all, v.Cache())
		}
	}
	for _, src := range e.sources {
		for _, in := range src.inputs {
			add(in.feed)
		}
	}
	if s := e.current(); s != nil {
		for _, f := range s.roster.Load().feeds() {
			add(f.feed)
		}
	}
	return all
}

// owners are the owners of the trackers of all sessions. A nil *owners keeps none.
type owners struct {
	mu  sync.Mutex // guards all
	all []any
}

func (o *owners) add(owner any) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.all, owner) {
		o.all = append(o.all, owner)
	}
}

func (o *owners) list() []any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.all)
}
