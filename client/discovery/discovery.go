// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [Discover]. The zero value of a field is its default.
type Options struct {
	// Cache keeps what the server said, so that next time it need only say that nothing has changed. Default: none.
	Cache *Cache

	// GroupTimeout is how long one group version may take to answer. It matters with servers that have no aggregated
	// discovery only: the others know which groups do not answer, and wait for none. Default 2 s.
	GroupTimeout time.Duration

	// Limits bound each document. Default: those of [wire.Limits].
	Limits *wire.Limits
}

// Discovery is what a server served at one moment. It is immutable.
type Discovery struct {
	served     []served
	failed     []*GroupError
	byResource map[schema.GroupVersionResource]int // where in served
	byKind     map[schema.GroupVersionKind]int
	preferred  map[schema.GroupResource]int // the version the server prefers
}

// served is a resource with what is known of its parts.
type served struct {
	core.Resource
	parts []Subresource
}

// Subresource is a part of a resource's objects that is read and written by itself.
type Subresource struct {
	Name  string                  // such as "scale"
	Kind  schema.GroupVersionKind // of what is sent and answered; the resource's own kind for "status"
	Verbs []string
}

// ErrStale says that a group version's server does not answer the API server, which tells what it last heard of it.
var ErrStale = errors.New("its server does not answer the API server; what is known of it may be old")

// GroupError says that one group version could not be discovered. The others are not affected.
type GroupError struct {
	GroupVersion schema.GroupVersion
	Err          error // [ErrStale] when the API server said so
}

// Error names the group version.
func (e *GroupError) Error() string { return e.GroupVersion.String() + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *GroupError) Unwrap() error { return e.Err }

// Discover asks the server for all it serves: twice, or when it is too old for that, once more for each group version.
// What can't be discovered is in [Discovery.Failed], beside the rest.
//
// Errors: whatever [client.Client.Do] returns for the documents that list the groups.
func Discover(ctx context.Context, c *client.Client, o *Options) (*Discovery, error) {
	if o == nil {
		o = &Options{}
	}
	return discover(ctx, c, o, false)
}

// discover is Discover, which when it is to be fresh takes nothing out of a cache unasked.
func discover(ctx context.Context, c *client.Client, o *Options, fresh bool) (*Discovery, error) {
	if o.GroupTimeout < 0 {
		return nil, fmt.Errorf("discovery.Options.GroupTimeout: %v is negative; 0 means the default", o.GroupTimeout)
	}
	f := &fetcher{client: c, cache: o.Cache, limits: o.Limits, fresh: fresh}
	roots := []string{"/api", "/apis"}
	versions, errs := make([][]groupVersion, len(roots)), make([]error, len(roots))
	var wg sync.WaitGroup
	for i, root := range roots {
		wg.Go(func() {
			versions[i], errs[i] = f.root(ctx, root, o.GroupTimeout)
		})
	}
	wg.Wait()
	missing := 0
	for i, err := range errs {
		switch {
		case errors.Is(err, core.ErrNotFound): // as of a server that has no core group
			missing++
		case err != nil:
			return nil, fmt.Errorf("discover %s: %w", roots[i], err)
		}
	}
	if missing == len(roots) {
		return nil, fmt.Errorf("discover /api and /apis: %w; is this the address of a Kubernetes API server?", errs[0])
	}
	return newDiscovery(slices.Concat(versions...)), nil
}

// newDiscovery puts together what the server said of its group versions, which are in its order of preference.
func newDiscovery(versions []groupVersion) *Discovery {
	d := &Discovery{
		byResource: map[schema.GroupVersionResource]int{},
		byKind:     map[schema.GroupVersionKind]int{},
		preferred:  map[schema.GroupResource]int{},
	}
	for _, v := range versions {
		for _, r := range v.resources {
			if err := r.Validate(); err != nil {
				v.errs = append(v.errs, fmt.Errorf("resource %q: %w", r.Plural, err))
				continue
			}
			d.add(r)
		}
		for _, err := range v.errs {
			d.failed = append(d.failed, &GroupError{v.GroupVersion, err})
		}
	}
	return d
}

// add adds a resource. Of several with one name the first counts.
func (d *Discovery) add(r served) {
	at, gvr := len(d.served), r.GroupVersionResource()
	if _, ok := d.byResource[gvr]; ok {
		return
	}
	d.served = append(d.served, r)
	d.byResource[gvr] = at
	if _, ok := d.byKind[r.GroupVersionKind()]; !ok {
		d.byKind[r.GroupVersionKind()] = at
	}
	if _, ok := d.preferred[gvr.GroupResource()]; !ok {
		d.preferred[gvr.GroupResource()] = at
	}
}

// Resources returns all resources in all versions, in the server's order of preference. What their slices hold must not
// be changed.
func (d *Discovery) Resources() []core.Resource {
	all := make([]core.Resource, len(d.served))
	for i, r := range d.served {
		all[i] = r.Resource
	}
	return all
}

// Preferred returns each resource once, in the version that the server prefers. What their slices hold must not be
// changed.
func (d *Discovery) Preferred() []core.Resource {
	all := make([]core.Resource, 0, len(d.preferred))
	for i, r := range d.served {
		if d.isPreferred(i) {
			all = append(all, r.Resource)
		}
	}
	return all
}

func (d *Discovery) isPreferred(i int) bool {
	return d.preferred[d.served[i].GroupVersionResource().GroupResource()] == i
}

// Failed returns the group versions that could not be discovered, or not wholly.
func (d *Discovery) Failed() []*GroupError { return slices.Clone(d.failed) }

// ForResource finds a resource by its full name. Without a version it is the one that the server prefers.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) ForResource(gvr schema.GroupVersionResource) (core.Resource, error) {
	i, ok := d.byResource[gvr]
	if gvr.Version == "" {
		i, ok = d.preferred[gvr.GroupResource()]
	}
	if !ok {
		return core.Resource{}, d.unknown(fullName(gvr.Resource, gvr.Version, gvr.Group))
	}
	return d.served[i].Resource, nil
}

// ForKind finds the resource of a kind. Without a version it is the one that the server prefers.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) ForKind(gvk schema.GroupVersionKind) (core.Resource, error) {
	i, ok := d.byKind[gvk]
	if gvk.Version == "" {
		i = slices.IndexFunc(d.served, func(r served) bool { return r.Kind == gvk.Kind && r.Group == gvk.Group })
		ok = i >= 0
	}
	if !ok {
		return core.Resource{}, d.unknown(fullName(gvk.Kind, gvk.Version, gvk.Group))
	}
	return d.served[i].Resource, nil
}

// fullName returns a name as people write it, without the parts that are empty.
func fullName(name, version, group string) string {
	for _, part := range []string{version, group} {
		if part != "" {
			name += "." + part
		}
	}
	return name
}

// Subresources returns the parts of a resource with their kinds; none for a resource that the server does not have.
// What their slices hold must not be changed.
func (d *Discovery) Subresources(res core.Resource) []Subresource {
	i, ok := d.byResource[res.GroupVersionResource()]
	if !ok {
		return nil
	}
	return slices.Clone(d.served[i].parts)
}
