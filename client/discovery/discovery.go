// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [Discover]. The zero value of a field is its default.
type Options struct {
	// Cache keeps the documents of the server, so that unchanged ones are not sent again. Default: none.
	Cache *Cache

	// Limits are the limits for each document. Default: those of [wire.Limits].
	Limits *wire.Limits
}

// Discovery contains the resources that a server served at one moment. It is immutable.
type Discovery struct {
	served     []served
	failed     []*GroupError
	byResource map[schema.GroupVersionResource]int // index into served
	byKind     map[schema.GroupVersionKind]int
	preferred  map[schema.GroupResource]int // index of the version that the server prefers
	cached     bool                         // from documents of which one was used without a request
}

// served is a resource with its subresources.
type served struct {
	core.Resource
	parts []Subresource
}

// readable reports whether objects of the resource can be read.
func (s *served) readable() bool { return slices.Contains(s.Verbs, "get") }

// Subresource is a subresource of a resource, such as pods/log.
type Subresource struct {
	Name  string                  // such as "scale"
	Kind  schema.GroupVersionKind // the kind of its objects; for "status", the kind of the resource
	Verbs []string
}

// ErrStale reports that the server of a group version does not respond to the API server, which then usually returns no
// resources of the group version.
var ErrStale = errors.New("its server does not respond to the API server: its resources may be outdated or missing")

// GroupError is the error of one group version that could not be discovered. Others are not affected.
type GroupError struct {
	GroupVersion schema.GroupVersion
	Err          error // [ErrStale] if the API server reported it
}

// Error returns the group version and the cause.
func (e *GroupError) Error() string { return e.GroupVersion.String() + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *GroupError) Unwrap() error { return e.Err }

// Discover asks the server for all its resources, with two requests. If the server has no aggregated discovery,
// Discover sends another request for each group version. [Discovery.Failed] contains the group versions that could not
// be discovered.
//
// Errors: those of [client.Client.Do] for the documents that list the groups.
func Discover(ctx context.Context, c *client.Client, o *Options) (*Discovery, error) {
	if o == nil {
		o = &Options{}
	}
	return discover(ctx, c, o, false, nil)
}

// discover is Discover. If fresh is set, it uses no cached document without asking the server. It keeps the resources
// that an earlier discovery has found, which may be nil, of group versions that could not be discovered.
func discover(ctx context.Context, c *client.Client, o *Options, fresh bool, earlier *Discovery) (*Discovery, error) {
	f := &fetcher{client: c, cache: o.Cache, limits: o.Limits, fresh: fresh}
	roots := []string{"/api", "/apis"}
	versions, errs := make([][]groupVersion, len(roots)), make([]error, len(roots))
	var wg sync.WaitGroup
	for i, root := range roots {
		wg.Go(func() {
			versions[i], errs[i] = f.root(ctx, root)
		})
	}
	wg.Wait()
	missing := 0
	for i, err := range errs {
		switch {
		case errors.Is(err, core.ErrNotFound): // the server may have no core group
			missing++
		case err != nil:
			return nil, fmt.Errorf("discover %s: %w", roots[i], err)
		}
	}
	if missing == len(roots) {
		return nil, fmt.Errorf("discover /api and /apis: %w; is this the address of a Kubernetes API server?", errs[0])
	}
	d := newDiscovery(slices.Concat(versions...), earlier)
	d.cached = f.cached.Load()
	return d, nil
}

// newDiscovery returns the resources of group versions, which are in the server's order of preference. It takes those
// of a failed group version without resources from an earlier discovery, which may be nil.
func newDiscovery(versions []groupVersion, earlier *Discovery) *Discovery {
	d := &Discovery{
		byResource: map[schema.GroupVersionResource]int{},
		byKind:     map[schema.GroupVersionKind]int{},
		preferred:  map[schema.GroupResource]int{},
	}
	known := earlier.byGroupVersion()
	for _, v := range versions {
		if len(v.errs) > 0 && len(v.resources) == 0 {
			v.resources = known[v.GroupVersion]
		}
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

// add adds a resource. Of several with the same name, it uses the first.
func (d *Discovery) add(r served) {
	at, gvr := len(d.served), r.GroupVersionResource()
	if _, ok := d.byResource[gvr]; ok {
		return
	}
	d.served = append(d.served, r)
	d.byResource[gvr] = at
	if first, ok := d.byKind[r.GroupVersionKind()]; !ok || !d.served[first].readable() && r.readable() {
		d.byKind[r.GroupVersionKind()] = at
	}
	if _, ok := d.preferred[gvr.GroupResource()]; !ok {
		d.preferred[gvr.GroupResource()] = at
	}
}

// byGroupVersion returns the resources of each group version. A nil discovery has none.
func (d *Discovery) byGroupVersion() map[schema.GroupVersion][]served {
	all := map[schema.GroupVersion][]served{}
	if d != nil {
		for _, r := range d.served {
			gv := r.GroupVersionKind().GroupVersion()
			all[gv] = append(all[gv], r)
		}
	}
	return all
}

// Resources returns all resources in all versions, in the server's order of preference. The caller must not change the
// contents of their slices.
func (d *Discovery) Resources() []core.Resource {
	all := make([]core.Resource, len(d.served))
	for i, r := range d.served {
		all[i] = r.Resource
	}
	return all
}

// Preferred returns each resource once, in the version that the server prefers. The caller must not change the contents
// of their slices.
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

// Failed returns the group versions that could not be discovered, or only in part. A client repeats requests for the
// resources of an aggregated server that does not respond for about 20 seconds; WithAttempts of package middleware,
// with 1, makes them fail immediately.
func (d *Discovery) Failed() []*GroupError { return slices.Clone(d.failed) }

// ForResource finds a resource by its full name. Without a version, it returns the version that the server prefers.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) ForResource(gvr schema.GroupVersionResource) (core.Resource, error) {
	i, ok := d.byResource[gvr]
	if gvr.Version == "" {
		i, ok = d.preferred[gvr.GroupResource()]
	}
	if !ok {
		return core.Resource{}, d.unknown(fullName(gvr.Resource, gvr.Version, gvr.Group), inGroup(gvr.Group))
	}
	return d.served[i].Resource, nil
}

// ForKind finds the resource of a kind. Without a version, it returns the version that the server prefers. Of several
// resources of one kind, it returns the first that has the verb get, or otherwise the first.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) ForKind(gvk schema.GroupVersionKind) (core.Resource, error) {
	i, ok := d.byKind[gvk]
	if gvk.Version == "" {
		first := slices.IndexFunc(d.served, func(r served) bool { return r.Kind == gvk.Kind && r.Group == gvk.Group })
		if ok = first >= 0; ok {
			i = d.byKind[d.served[first].GroupVersionKind()]
		}
	}
	if !ok {
		return core.Resource{}, d.unknown(fullName(gvk.Kind, gvk.Version, gvk.Group), inGroup(gvk.Group))
	}
	return d.served[i].Resource, nil
}

// fullName returns a name without its empty parts, in the format of kubectl.
func fullName(name, version, group string) string {
	for _, part := range []string{version, group} {
		if part != "" {
			name += "." + part
		}
	}
	return name
}

// Subresources returns the subresources of a resource with their kinds, or nil if the server does not have the
// resource. The caller must not change the contents of their slices.
func (d *Discovery) Subresources(res core.Resource) []Subresource {
	i, ok := d.byResource[res.GroupVersionResource()]
	if !ok {
		return nil
	}
	return slices.Clone(d.served[i].parts)
}
