// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Logger logs the errors of watches, which recover automatically. Default: [slog.Default].
	Logger *slog.Logger
}

// Cache is a set of shared watches on one server. Create one with [New].
type Cache struct {
	client *client.Client
	logger *slog.Logger

	mu    sync.Mutex // guards views
	views map[key]any
}

// key identifies a view.
type key struct {
	goType     reflect.Type
	kind       schema.GroupVersionKind
	plural     string
	namespaced bool
	selection  Selection
}

// New returns a cache of a server's objects. It is empty until one of its views runs.
func New(c *client.Client, o *Options) *Cache {
	if o == nil {
		o = &Options{}
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	return &Cache{client: c, logger: logger, views: make(map[key]any)}
}

// Selection selects the objects of a kind that a view holds. The zero value of a field selects all of them.
type Selection struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
}

// canonical returns the selection with its selectors in a fixed order, so that equal selections share a watch. An
// invalid selector stays unchanged, see [Selection.parse].
func (s *Selection) canonical() *Selection {
	c := *s
	if selector, err := labels.Parse(s.LabelSelector); err == nil {
		c.LabelSelector = selector.String()
	}
	if selector, err := fields.ParseSelector(s.FieldSelector); err == nil {
		var terms []string
		for _, r := range selector.Requirements() {
			terms = append(terms, r.Field+string(r.Operator)+fields.EscapeValue(r.Value))
		}
		slices.Sort(terms)
		c.FieldSelector = strings.Join(slices.Compact(terms), ",")
	}
	return &c
}

// Of returns the view of a kind. A nil selection selects all objects.
func Of[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[K] {
	res, err := core.ResourceOf[K, P]()
	return view[K, P](c, res, err, s)
}

// OfResource is [Of] for an explicit resource. If K is metav1.PartialObjectMetadata, the view requests metadata only,
// and holds nothing else: for example, it sees which secrets exist, but not their data.
func OfResource[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s *Selection) *View[K] {
	return view[K, P](c, res, res.Validate(), s)
}

func view[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, setup error, s *Selection) *View[K] {
	if s == nil {
		s = &Selection{}
	}
	s = s.canonical()
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
