// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"iter"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/finalizer"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/wait"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Keeping up with objects.
type (
	// Cache is a set of shared watches on one server, see [cache.Cache].
	Cache = cache.Cache
	// CacheOptions are the options of [NewCache], see [cache.Options].
	CacheOptions = cache.Options
	// Selection says which objects of a kind a view holds, see [cache.Selection].
	Selection = cache.Selection
	// View is one kind of object in a cache, see [cache.View].
	View[K any] = cache.View[K]
	// Store holds the objects of one kind as they were on the server a moment ago, see [reflector.Store].
	Store[K any] = reflector.Store[K]
	// SelectOptions say which objects of a store are wanted, see [reflector.SelectOptions].
	SelectOptions = reflector.SelectOptions
	// WatchConfig says how a healing watch works, see [watcher.Config].
	WatchConfig = watcher.Config
)

// NewCache returns a cache of a server's objects, see [cache.New].
func NewCache(c *Client, o *CacheOptions) *Cache { return cache.New(c, o) }

// ViewOf returns the view of a kind in a cache, see [cache.Of].
func ViewOf[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[K] { return cache.Of[K, P](c, s) }

// ViewOfResource returns the view of a kind whose resource is given explicitly, see [cache.OfResource].
func ViewOfResource[K any, P core.ObjectPtr[K]](c *Cache, res Resource, s *Selection) *View[K] {
	return cache.OfResource[K, P](c, res, s)
}

// ErrNotReady is the error of a store that is not synced yet.
var ErrNotReady = reflector.ErrNotReady

// Watch yields the existing objects of an API and then their changes until the context ends; it recovers from failures, see
// [watcher.Watch].
func Watch[K any, P core.ObjectPtr[K]](ctx context.Context, api *API[K], c *WatchConfig) iter.Seq2[WatchEvent[K], error] {
	return watcher.Watch[K, P](ctx, api.Feed(), c)
}

// Controllers.
type (
	// Controller reconciles the objects of one kind, see [controller.Controller].
	Controller[K any] = controller.Controller[K]
	// ControllerOptions are the options of [NewController], see [controller.Options].
	ControllerOptions = controller.Options
	// Primary is the kind that a controller reconciles, see [controller.Primary].
	Primary[K any] = controller.Primary[K]
	// Secondary is a kind whose changes concern the objects of another, see [controller.Secondary].
	Secondary[K any] = controller.Secondary[K]
	// Reconcile makes the world as an object asks, see [controller.Reconcile].
	Reconcile[K any] = controller.Reconcile[K]
	// Action is what a reconcile that went well asks for next, see [controller.Action].
	Action = controller.Action
	// Result is one run of a reconcile, see [controller.Result].
	Result = controller.Result
)

// NewController returns a controller, see [controller.New].
func NewController[K any](p Primary[K], o *ControllerOptions) *Controller[K] {
	return controller.New(p, o)
}

// Logger returns the logger of a reconcile's run, for its context, see [controller.Logger].
func Logger(ctx context.Context) *slog.Logger { return controller.Logger(ctx) }

// For returns the kind that a controller reconciles, see [controller.For].
func For[K any, P core.ObjectPtr[K]](c *Cache) Primary[K] { return controller.For[K, P](c) }

// ForView returns the kind that a controller reconciles: the objects of a view, see [controller.ForView].
func ForView[K any](v *View[K]) Primary[K] { return controller.ForView(v) }

// Source returns a kind whose changes concern the objects of another, see [controller.Source].
func Source[K any, P core.ObjectPtr[K]](c *Cache) Secondary[K] { return controller.Source[K, P](c) }

// SourceView returns a kind whose changes concern the objects of another: those of a view, see [controller.SourceView].
func SourceView[K any](v *View[K]) Secondary[K] { return controller.SourceView(v) }

// AwaitChange asks for nothing: the next run comes with the next change, see [controller.AwaitChange].
func AwaitChange() Action { return controller.AwaitChange() }

// RequeueAfter asks for a run after d; a d of zero or less means as soon as the back-off allows, see
// [controller.RequeueAfter].
func RequeueAfter(d time.Duration) Action { return controller.RequeueAfter(d) }

// Terminal marks an error that trying again does not mend, see [controller.Terminal].
func Terminal(err error) error { return controller.Terminal(err) }

// Finalizers, events and waiting.
type (
	// FinalizerFuncs are the two halves of a reconciler that owns something outside the cluster, see [finalizer.Funcs].
	FinalizerFuncs[K any] = finalizer.Funcs[K]
	// Recorder writes events on behalf of one controller, see [events.Recorder].
	Recorder = events.Recorder
	// RecorderOptions are the options of [NewRecorder], see [events.Options].
	RecorderOptions = events.Options
	// Event is what happened to an object, see [events.Event].
	Event = events.Event
	// Condition is what [Await] waits for, see [wait.Condition].
	Condition[K any] = wait.Condition[K]
	// WaitOptions are the options of [Await] and [AwaitGone], see [wait.Options].
	WaitOptions = wait.Options
)

// The types of events.
const (
	EventNormal  = events.Normal
	EventWarning = events.Warning
)

// Finalize keeps a finalizer on an object for as long as there may be something to clean up, see [finalizer.Reconcile].
func Finalize[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, obj *K, f FinalizerFuncs[K],
) (Action, error) {
	return finalizer.Reconcile[K, P](ctx, api, name, obj, f)
}

// NewRecorder returns a recorder of events, see [events.NewRecorder].
func NewRecorder(c *Client, o *RecorderOptions) *Recorder { return events.NewRecorder(c, o) }

// Await waits until a condition holds of an object, see [wait.Await].
func Await[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, c Condition[K], o *WaitOptions,
) (*K, error) {
	return wait.Await[K, P](ctx, api, name, c, o)
}

// AwaitGone waits until an object is gone, see [wait.Gone].
func AwaitGone[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, uid types.UID, o *WaitOptions,
) error {
	return wait.Gone[K, P](ctx, api, name, uid, o)
}

// DeleteAndWait deletes an object and waits until it is deleted, see [wait.DeleteAndWait].
func DeleteAndWait[K any, P core.ObjectPtr[K]](ctx context.Context, api *API[K], name string, o *DeleteOptions) error {
	return wait.DeleteAndWait[K, P](ctx, api, name, o)
}

// Never marks an error of a condition that will never hold, see [wait.Never].
func Never(err error) error { return wait.Never(err) }

// Exists holds of every object that is there, see [wait.Exists].
func Exists[K any]() Condition[K] { return wait.Exists[K]() }

// StatusCondition holds when a condition in the object's status has a value, see [wait.StatusCondition].
func StatusCondition[K any](conditionType string, status metav1.ConditionStatus) Condition[K] {
	return wait.StatusCondition[K](conditionType, status)
}

// Established holds of a CustomResourceDefinition that is served, see [wait.Established].
func Established[K any]() Condition[K] { return wait.Established[K]() }
