// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"log/slog"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/finalizer"
)

// Controllers.
type (
	// Controller reconciles the objects of one kind. [NewController] returns one. Methods: Owns and Watches add other
	// kinds; Run runs until its context ends; Health and Stats report its state. See [controller.Controller].
	Controller[K any] = controller.Controller[K]
	// ControllerOptions are the options of [NewController]: Name, Concurrency, Retry, Logger, OnResult, SyncTimeout,
	// StopTimeout, HoldTimeout. See [controller.Options].
	ControllerOptions = controller.Options
	// Reconcile is the function that a controller calls for an object: func(context.Context, *K) (Action, error). See
	// [controller.Reconcile].
	Reconcile[K any] = controller.Reconcile[K]
	// Action is the next run that a successful reconcile requests: [AwaitChange] or [RequeueAfter]. See
	// [controller.Action].
	Action = controller.Action
	// Result describes one run of a reconcile, for ControllerOptions.OnResult: Ref, Action, Err, Failures, RetryIn,
	// Took. See [controller.Result].
	Result = controller.Result
)

// NewController returns a controller of the objects of p, which [For] or [ForView] returns. See [controller.New].
func NewController[K any](p controller.Primary[K], o *ControllerOptions) *Controller[K] {
	return controller.New(p, o)
}

// For returns the kind that a controller reconciles: all objects of K in a cache. See [controller.For].
func For[K any, P core.ObjectPtr[K]](c *Cache) controller.Primary[K] { return controller.For[K, P](c) }

// ForView returns the kind that a controller reconciles: the objects of a view. See [controller.ForView].
func ForView[K any](v *View[K]) controller.Primary[K] { return controller.ForView(v) }

// Source returns another kind whose changes a controller acts on: all objects of K in a cache. Pass it to Owns; or pass
// the result of its method Map, whose callback returns the objects to reconcile, to Watches. See [controller.Source].
func Source[K any, P core.ObjectPtr[K]](c *Cache) controller.Secondary[K] {
	return controller.Source[K, P](c)
}

// SourceView is [Source] for the objects of a view. See [controller.SourceView].
func SourceView[K any](v *View[K]) controller.Secondary[K] { return controller.SourceView(v) }

// AwaitChange returns the action that requests no run: the next change causes the next run. See
// [controller.AwaitChange].
func AwaitChange() Action { return controller.AwaitChange() }

// RequeueAfter returns the action that requests a run after d. If d is zero or negative, the run comes as soon as the
// back-off allows. See [controller.RequeueAfter].
func RequeueAfter(d time.Duration) Action { return controller.RequeueAfter(d) }

// Terminal marks an error that a retry can't fix: the controller runs the object again only after a change. See
// [controller.Terminal].
func Terminal(err error) error { return controller.Terminal(err) }

// Logger returns the logger for a run of a reconcile, whose context is ctx. Its records have the name of the
// controller, the kind and the object. See [controller.Logger].
func Logger(ctx context.Context) *slog.Logger { return controller.Logger(ctx) }

// FinalizerFuncs are the two functions of [Finalize]: Apply and Cleanup. See [finalizer.Funcs].
type FinalizerFuncs[K any] = finalizer.Funcs[K]

// Finalize keeps a finalizer on an object while it may have something to clean up: it calls Apply, or Cleanup when the
// object is being deleted, and then removes the finalizer. Call it in a reconcile and return its results. See
// [finalizer.Reconcile].
func Finalize[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], name string, obj *K, f FinalizerFuncs[K],
) (Action, error) {
	return finalizer.Reconcile[K, P](ctx, api, name, obj, f)
}

// Events.
type (
	// Recorder writes events. [NewRecorder] returns one. Methods: Event, which does not block; Run, which writes the
	// events; Dropped. See [events.Recorder].
	Recorder = events.Recorder
	// RecorderOptions are the options of [NewRecorder]: Controller, Instance, Queue, FlushTimeout, Logger. See
	// [events.Options].
	RecorderOptions = events.Options
	// Event describes what happened to an object: Type ([EventNormal] or [EventWarning]), Reason, Action, Note,
	// Related. See [events.Event].
	Event = events.Event
)

// The types of an [Event].
const (
	EventNormal  = events.Normal
	EventWarning = events.Warning
)

// NewRecorder returns a recorder of events. See [events.NewRecorder].
func NewRecorder(c *Client, o *RecorderOptions) *Recorder { return events.NewRecorder(c, o) }
