// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Cluster names the cluster of the cache, for programs that use several clusters: it is the cluster of the keys of
	// controllers. Default: the empty name.
	Cluster string

	// Logger logs the errors and the recoveries of watches, which recover automatically. Default: [slog.Default].
	Logger *slog.Logger

	// Source returns the source of the objects of a resource, in one namespace or in all of them if it is empty. Set it
	// to fill the cache from something other than the client, such as a test or another process. Default: the client.
	Source func(res core.Resource, namespace string) watcher.Source

	// Compression compresses the objects in memory, see [reflector.Options]. Package contrib/zstd has one. Default:
	// that of the reflector.
	Compression func(samples [][]byte) (reflector.Codec, error)

	// SnapshotDir is a directory in which the cache keeps a file for each watch, so that after a restart of the program
	// the watches resume and the objects are not listed again. The files contain the objects as they are; secrets and
	// their metadata are never written. So use a directory that only this program can read and write, and that is not part
	// of a backup. A file is used only for the same server, Cluster and selection; sharded views have none. See
	// [reflector.Options] for when the files are written and removed, and "Snapshots" in the comment of
	// [reflector.Reflector] for when their objects are ready. Default: no snapshots.
	SnapshotDir string
}

// Cache is a set of shared watches on one server. Create one with [New].
type Cache struct {
	server  string
	cluster string
	logger  *slog.Logger
	source  func(core.Resource, string) watcher.Source
	codec   func(samples [][]byte) (reflector.Codec, error)
	dir     string // of snapshots
	setup   error  // the error of the options

	learned watcher.Server // what the watches know of the server

	mu      sync.Mutex // guards watches
	watches map[key]*watch
}

// key identifies a watch.
type key struct {
	kind       schema.GroupVersionKind
	plural     string
	namespaced bool
	selection  Selection
}

// New returns a cache of a server's objects. It is empty until one of its views runs. The client may be nil if
// [Options.Source] is set.
func New(c *client.Client, o *Options) *Cache {
	if o == nil {
		o = &Options{}
	}
	cache := &Cache{
		cluster: o.Cluster,
		logger:  o.Logger,
		source:  o.Source,
		codec:   o.Compression,
		dir:     o.SnapshotDir,
		setup:   checkOptions(o),
		watches: make(map[key]*watch),
	}
	if cache.logger == nil {
		cache.logger = slog.Default()
	}
	if c != nil {
		cache.server = c.Server()
	}
	if cache.source == nil {
		cache.source = sourceOf(c)
	}
	return cache
}

// Cluster returns the name of the cache's cluster, see [Options.Cluster].
func (c *Cache) Cluster() string { return c.cluster }

// Discard discards the objects of the watches that do not run, instead of a minute after their end. A watch keeps its
// objects if something subscribes to their changes.
func (c *Cache) Discard() {
	for _, w := range c.list() {
		w.discardNow()
	}
}

// Selection selects the objects of a kind that a view holds. The zero value of a field selects all of them.
type Selection struct {
	Namespace string

	// LabelSelector and FieldSelector are in the syntax of kubectl. When a change removes an object from the selection, it
	// disappears from the view, as if it was deleted: a controller that reconciles the view does not run for it, and does
	// not remove its finalizer.
	LabelSelector, FieldSelector string

	// Sharded selects only the objects that this replica of the program owns: one of n replicas lists, watches and holds
	// about 1/n of them. It is for the sources of a controller that a manager with Options.Sharding runs:
	//
	//	docs := cache.Of[v1.Document](c, &cache.Selection{Sharded: true})
	//	m.Add(controller.New(controller.ForView(docs), nil).With(reconcile))
	//
	// Don't use such a view to read other objects of the kind: they appear and disappear when the replicas change, which
	// is not a creation or a deletion. The view lists its objects again after each such change, and has no snapshot. Until
	// it has, the controller does not run for the objects of its namespace.
	//
	// The server selects the objects if it has the feature gate ShardedListAndWatch (alpha in Kubernetes 1.36). Otherwise
	// it sends all objects, and the cache drops the others. The cache logs this for each API group and version, and tries
	// again with a list after one to two hours, or after a connection has failed. Default: false.
	Sharded bool
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

// errNoCache is the error of the views of a nil cache.
var errNoCache = errors.New("cache: the cache is nil: pass one of cache.New")

// Of returns the view of a kind. A nil selection selects all objects. For the same type, resource and selection, it
// returns the same view.
func Of[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[K] {
	res, err := core.ResourceOf[K, P]()
	return viewOf[K, P](c, res, err, s)
}

// MetadataOf is [Of] for the metadata of a kind: if no view of the same objects reads more, the cache requests and holds
// nothing else. For example, it sees which secrets exist, but not their data.
func MetadataOf[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[metav1.PartialObjectMetadata] {
	res, err := core.ResourceOf[K, P]()
	return viewOf[metav1.PartialObjectMetadata](c, res, err, s)
}

// OfResource is [Of] for an explicit resource. If K is metav1.PartialObjectMetadata, it is [MetadataOf].
func OfResource[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s *Selection) *View[K] {
	if kinds.IsRow[K]() {
		return viewOf[K, P](c, core.Resource{Kind: "Row"}, errRows, s) // valid views of the resource share another watch
	}
	return viewOf[K, P](c, res, res.Validate(), s)
}

// errRows is the error of a view of rows.
var errRows = errors.New("cache: a cache holds objects, and no rows of tables: pass API.Rows of the client to watcher.Watch")

func viewOf[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, setup error, s *Selection) *View[K] {
	if c == nil {
		c, setup = New(nil, nil), errors.Join(errNoCache, setup)
	}
	w, goType := c.watch(res, setup, s), reflect.TypeFor[K]()
	w.mu.Lock()
	defer w.mu.Unlock()
	if v, ok := w.views[goType]; ok {
		return v.(*View[K])
	}
	v := &View[K]{
		watch: w,
		store: reflector.StoreOf[K, P](w.reflector),
		on:    func(other *Cache) *View[K] { return viewOf[K, P](other, res, setup, &w.selection) },
	}
	w.views[goType] = v
	return v
}

// watch returns the watch of a selection of a resource. setup is the error of an invalid resource.
func (c *Cache) watch(res core.Resource, setup error, s *Selection) *watch {
	if s == nil {
		s = &Selection{}
	}
	s = s.canonical()
	k := key{kind: res.GroupVersionKind(), plural: res.Plural, namespaced: res.Namespaced, selection: *s}
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.watches[k]
	if !ok {
		w = newWatch(c, res, *s, setup)
		c.watches[k] = w
	}
	return w
}
