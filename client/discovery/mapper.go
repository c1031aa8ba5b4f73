// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// MapperOptions are the options of [NewMapper]. The zero value of a field is its default.
type MapperOptions struct {
	// Discover contains the options of each discovery. Default: those of [Options], with a [Cache] in memory.
	Discover *Options

	// MinInterval is the minimum time between two discoveries. A lookup of an unknown name waits until it has passed, and
	// discovers. The same name is unknown without another wait until MinInterval has passed again. It does not wait after
	// a discovery that has used a cached document without a request. Default: 2 s.
	MinInterval time.Duration
}

// Mapper finds resources by name, by kind or by object, and discovers again if it does not find one. Use it in programs
// that run while kinds are installed. It is safe for concurrent use.
//
// A lookup finds each kind that the server served before the call, so an unknown name needs a discovery that began after
// the call. Concurrent lookups share it. See [MapperOptions.MinInterval] for the time that a lookup may wait.
//
// A lookup five minutes after the last discovery also discovers again, so that the mapper knows changes of known kinds,
// such as a new subresource. It waits for the result for no longer than ten seconds, and half of the time until the
// deadline of its context. If the discovery fails, the mapper uses the last one for another five minutes.
//
// If a group version can't be discovered any more, for example because its server is unavailable, the mapper keeps the
// resources that it knows of it; [Discovery.Failed] contains the group version.
type Mapper struct {
	client   *client.Client
	options  Options
	interval time.Duration
	turn     chan struct{} // holds a value during a discovery

	mu      sync.Mutex // guards the fields below
	current *Discovery // nil before the first discovery
	at      time.Time  // time of the last discovery, including a failed one
	err     error      // error of the last discovery
	number  int        // number of the last discovery
	begun   int        // how many discoveries have begun; each has the next number

	awaited map[any]struct{} // names whose lookups wait for the next discovery
	absent  map[any]struct{} // names whose lookups waited for current
}

const (
	// renewAfter is the age of a discovery after which a lookup of a known resource discovers again.
	renewAfter = 5 * time.Minute

	// renewTimeout is the maximum time for which a lookup of a known resource waits for a new discovery.
	renewTimeout = 10 * time.Second
)

// NewMapper returns a mapper. It performs no IO; the first lookup discovers, and so do lookups of unknown names, which
// wait for it for at most [MapperOptions.MinInterval].
func NewMapper(c *client.Client, o *MapperOptions) *Mapper {
	m := &Mapper{client: c, interval: 2 * time.Second, turn: make(chan struct{}, 1)}
	if o != nil && o.Discover != nil {
		m.options = *o.Discover
	}
	if o != nil && o.MinInterval != 0 {
		m.interval = o.MinInterval
	}
	if m.options.Cache == nil {
		m.options.Cache = NewCache(nil)
	}
	return m
}

// Resolve finds a resource by any name, see [Discovery.Resolve].
//
// Errors: [*UnknownResourceError], and those of [Discover].
func (m *Mapper) Resolve(ctx context.Context, name string) (core.Resource, error) {
	return m.find(ctx, name, func(d *Discovery) (core.Resource, error) { return d.Resolve(name) })
}

// ForKind finds the resource of a kind, see [Discovery.ForKind].
//
// Errors: [*UnknownResourceError], and those of [Discover].
func (m *Mapper) ForKind(ctx context.Context, gvk schema.GroupVersionKind) (core.Resource, error) {
	return m.find(ctx, gvk, func(d *Discovery) (core.Resource, error) { return d.ForKind(gvk) })
}

// ForResource finds a resource by its full name, see [Discovery.ForResource].
//
// Errors: [*UnknownResourceError], and those of [Discover].
func (m *Mapper) ForResource(ctx context.Context, gvr schema.GroupVersionResource) (core.Resource, error) {
	return m.find(ctx, gvr, func(d *Discovery) (core.Resource, error) { return d.ForResource(gvr) })
}

// ForObject finds the resource of an object by its apiVersion and kind.
//
// Errors: [*UnknownResourceError], and those of [Discover].
func (m *Mapper) ForObject(ctx context.Context, obj core.Object) (core.Resource, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	switch {
	case gvk.Kind == "":
		return core.Resource{}, errors.New("the object's kind is empty; set it")
	case gvk.Version == "":
		return core.Resource{}, fmt.Errorf("the %s's apiVersion is empty; set it", gvk.Kind)
	}
	return m.ForKind(ctx, gvk)
}

// Dynamic returns the API of an object's kind in the object's namespace. If the object is namespaced and its namespace
// is empty, it uses the namespace of the client.
//
// Errors: those of [Mapper.ForObject].
func (m *Mapper) Dynamic(ctx context.Context, obj core.Object) (*client.API[unstructured.Unstructured], error) {
	res, err := m.ForObject(ctx, obj)
	if err != nil {
		return nil, err
	}
	api := client.Dynamic(m.client, res)
	if res.Namespaced {
		api = api.In(cmp.Or(obj.GetNamespace(), m.client.Namespace()))
	}
	return api, nil
}

// Discovery returns the last discovery, or discovers at the first call.
func (m *Mapper) Discovery(ctx context.Context) (*Discovery, error) {
	if d := m.known(); d != nil {
		return d, nil
	}
	return m.newer(ctx, nil, m.begins(), nil)
}

// Refresh discovers again, however recent the last discovery is. Call it if the server reports that it does not serve a
// resource that the mapper has found.
func (m *Mapper) Refresh(ctx context.Context) (*Discovery, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	return m.discover(ctx, true)
}

func (m *Mapper) known() *Discovery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// renewed returns the last discovery, or a new one if the last one is old. If the new one fails, or if another
// goroutine is discovering, it returns the last one. Before the first, it returns nil.
func (m *Mapper) renewed(ctx context.Context) *Discovery {
	if current, old := m.last(); !old {
		return current
	}
	select {
	case m.turn <- struct{}{}:
	default:
		return m.known()
	}
	defer m.leave()
	current, old := m.last()
	if !old { // another goroutine has discovered meanwhile
		return current
	}
	timeout := renewTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2) // the caller needs time for its requests
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	number := m.begin()
	d, err := discover(limited, m.client, &m.options, false, current)
	if err == nil || ctx.Err() == nil {
		m.record(number, d, err)
	}
	return m.known()
}

// last returns the last discovery, and reports whether it is so old that a lookup discovers again.
func (m *Mapper) last() (d *Discovery, old bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current, m.current != nil && time.Since(m.at) >= max(renewAfter, m.interval)
}

// find looks up a resource. If it is missing, find looks it up in newer discoveries, up to one that began after the
// call. Equal names have equal results of look.
func (m *Mapper) find(
	ctx context.Context, name any, look func(*Discovery) (core.Resource, error),
) (core.Resource, error) {
	earlier := m.begins()
	for d := m.renewed(ctx); ; {
		if d != nil {
			if res, err := look(d); err == nil {
				return res, nil
			}
		}
		next, err := m.newer(ctx, d, earlier, name)
		if err != nil {
			return core.Resource{}, err
		}
		if next == d {
			return look(d)
		}
		d = next
	}
}

// newer returns a newer discovery than the given one, which may be nil. It returns the same one if that began after the
// earlier discoveries, or if a lookup of the name has waited for it. If it is too early for a discovery, newer waits,
// except after one that has failed or has used cached documents.
func (m *Mapper) newer(ctx context.Context, than *Discovery, earlier int, name any) (*Discovery, error) {
	for {
		d, wait, err := m.next(ctx, than, earlier, name)
		if wait <= 0 {
			return d, err
		}
		select {
		case <-time.After(wait): // without the turn, so that Refresh does not wait
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the next discovery: %w", context.Cause(ctx))
		}
	}
}

// next does what newer does, but if it is too early for a discovery, it returns the time to wait.
func (m *Mapper) next(
	ctx context.Context, than *Discovery, earlier int, name any,
) (d *Discovery, wait time.Duration, err error) {
	if err := m.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer m.leave()
	d, wait, known, err := m.judge(than, earlier, name)
	if known || wait > 0 {
		return d, wait, err
	}
	d, err = m.discover(ctx, than != nil)
	return d, 0, err
}

// judge reports whether the result of next is known without a discovery, and the time to wait before one.
func (m *Mapper) judge(
	than *Discovery, earlier int, name any,
) (d *Discovery, wait time.Duration, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = m.interval - time.Since(m.at)
	switch {
	case m.current != than: // another goroutine has discovered meanwhile
		return m.current, 0, true, nil
	case m.err != nil:
		return m.current, 0, wait > 0 || m.number > earlier, m.err
	case than == nil || than.cached: // its documents may be outdated
		return nil, 0, false, nil
	case m.number > earlier:
		return than, 0, true, nil
	case wait <= 0:
		return nil, 0, false, nil
	}
	if _, ok := m.absent[name]; ok {
		return than, 0, true, nil
	}
	if m.awaited == nil {
		m.awaited = map[any]struct{}{}
	}
	m.awaited[name] = struct{}{}
	return nil, wait, false, nil
}

// begins returns how many discoveries have begun. Those with a higher number begin later.
func (m *Mapper) begins() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// begin returns the number of a new discovery.
func (m *Mapper) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	return m.begun
}

// enter waits until no other goroutine discovers, so that all waiters share the result.
func (m *Mapper) enter(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Mapper) leave() { <-m.turn }

// discover runs a discovery. The caller has called enter. If the context of the caller ends, the result is not
// recorded, so that it does not affect others.
func (m *Mapper) discover(ctx context.Context, fresh bool) (*Discovery, error) {
	if m.interval < 0 {
		return nil, fmt.Errorf("discovery.MapperOptions.MinInterval: %v is negative; 0 means the default", m.interval)
	}
	number := m.begin()
	d, err := discover(ctx, m.client, &m.options, fresh, m.known())
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	m.record(number, d, err)
	return d, err
}

// record records the result of a discovery.
func (m *Mapper) record(number int, d *Discovery, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.number, m.err = time.Now(), number, err
	if err == nil {
		m.current = d
		m.absent, m.awaited = m.awaited, nil
	}
}
