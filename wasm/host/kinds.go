// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
)

const (
	// kindTime is the maximum time of a request for the kinds of the server, and the maximum time for which a watch waits
	// for the kind of its resource.
	kindTime = 10 * time.Second

	// kindInterval is the minimum time between two requests for the kinds of the server, except for the second one, if a
	// watch has another kind or an unknown resource.
	kindInterval = 30 * time.Second
)

// kinds knows the kinds of the resources of the server. The shared watches of a resource must have the same kind:
// otherwise each kind that a guest names would be a watch of its own.
type kinds struct {
	host   *Host
	mapper *discovery.Mapper

	mu   sync.Mutex // guards the fields below
	last *refresh   // nil before the first check
	next time.Time  // when another one may begin
}

// refresh is a request for the kinds of the server. All checks share it, so it does not end with one of them.
type refresh struct {
	begun time.Time
	ended chan struct{}        // closed when found is set
	found *discovery.Discovery // nil if the server could not be asked
}

func newKinds(h *Host) *kinds {
	return &kinds{host: h, mapper: discovery.NewMapper(h.client, nil)}
}

// check returns an error if a watch has another kind or scope than its resource. It returns no error if the server does
// not know the resource, because the resource may be installed later, or if the server can't be asked. The definition
// of the resource may have changed, so only a refresh that has begun after the check says that the watch is Invalid. If
// it is too early for one, the error is Unavailable.
func (k *kinds) check(ctx context.Context, w *abi.Watch) error {
	ctx, cancel := context.WithTimeout(ctx, kindTime)
	defer cancel()
	begun := time.Now()
	r, _ := k.refresh(time.Time{})
	res, known := r.find(ctx, w)
	if known && isResource(w, res) {
		return nil
	}
	wait := time.Duration(0)
	if r.begun.Before(begun) {
		if r, wait = k.refresh(begun); wait <= 0 {
			res, known = r.find(ctx, w)
		}
	}
	switch {
	case !known || isResource(w, res):
		return nil
	case wait > 0:
		return &abi.Error{Code: abi.Unavailable, Message: fmt.Sprintf("%s; if it has changed there, repeat the watch in %v: "+
			"the host does not ask the server again before", differs(w, res), wait.Truncate(time.Second)+time.Second)}
	}
	return &abi.Error{Code: abi.Invalid, Message: differs(w, res)}
}

// differs describes the kind that a watch must have.
func differs(w *abi.Watch, res core.Resource) string {
	return fmt.Sprintf("the watch of %s has the kind %q and namespaced %t: set the kind %q and namespaced %t, as on the "+
		"server", resourceOf(w), w.Kind, w.Namespaced, res.Kind, res.Namespaced)
}

// isResource reports whether a watch has the kind and the scope of a resource.
func isResource(w *abi.Watch, res core.Resource) bool {
	return w.Kind == res.Kind && w.Namespaced == res.Namespaced
}

// refresh returns the last refresh if it has begun at a time or later, or begins another one. If it is too early for
// that, it returns the last one and the time to wait.
func (k *kinds) refresh(after time.Time) (r *refresh, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	switch {
	case k.last == nil: // which does not delay the next one
	case !k.last.begun.Before(after):
		return k.last, 0
	case now.Before(k.next):
		return k.last, k.next.Sub(now)
	default:
		k.next = now.Add(kindInterval)
	}
	r = &refresh{begun: now, ended: make(chan struct{})}
	k.last = r
	k.host.spawn(func() { // it ends with the context of the host, at the latest after kindTime
		defer close(r.ended)
		ctx, cancel := context.WithTimeout(k.host.ctx, kindTime)
		defer cancel()
		r.found, _ = k.mapper.Refresh(ctx) // nil after an error
	})
	return r, 0
}

// find waits for the refresh, and returns the resource of a watch, if the server knows it.
func (r *refresh) find(ctx context.Context, w *abi.Watch) (res core.Resource, known bool) {
	select {
	case <-r.ended:
	case <-ctx.Done():
		return res, false
	}
	if r.found == nil {
		return res, false
	}
	res, err := r.found.ForResource(schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource})
	return res, err == nil
}
