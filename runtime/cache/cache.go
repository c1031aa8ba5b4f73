// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"log/slog"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Logger gets the trouble of the watches, which go on by themselves. Default: none.
	Logger *slog.Logger
}

// Cache is a set of shared watches on one server. Make one with [New].
type Cache struct {
	client *client.Client
	logger *slog.Logger

	mu    sync.Mutex // guards views
	views map[key]any
}

// key is what makes two views the same.
type key struct {
	goType     reflect.Type
	kind       schema.GroupVersionKind
	plural     string
	namespaced bool
	selection  Selection
}

// New returns a cache of a server's objects. It holds nothing until a view of it runs.
func New(c *client.Client, o *Options) *Cache {
	if o == nil {
		o = &Options{}
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Cache{client: c, logger: logger, views: make(map[key]any)}
}

// Selection says which objects of a kind a view holds. The zero value of a field means all of them.
type Selection struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
}

// Of returns the view of a kind; a nil selection means all of its objects.
func Of[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[K] {
	res, err := core.ResourceOf[K, P]()
	return view[K, P](c, res, err, s)
}

// OfResource is [Of] for a kind whose resource is given explicitly. With metav1.PartialObjectMetadata as K the view asks
// the server for metadata only, and holds nothing else: it sees which secrets exist, and not their data.
func OfResource[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s *Selection) *View[K] {
	return view[K, P](c, res, res.Validate(), s)
}

func view[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, setup error, s *Selection) *View[K] {
	if s == nil {
		s = &Selection{}
	}
	k := key{
		goType:     reflect.TypeFor[K](),
		kind:       res.GroupVersionKind(),
		plural:     res.Plural,
		namespaced: res.Namespaced,
		selection:  *s,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.views[k]; ok {
		return v.(*View[K])
	}
	v := newView[K, P](c, res, *s, setup)
	c.views[k] = v
	return v
}
