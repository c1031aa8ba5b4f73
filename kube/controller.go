// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/finalizer"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/sharding"
)

// Controllers.
type (
	// Controller reconciles the objects of one kind. [NewController] returns one. Methods: Owns, Watches and Reads add
	// other kinds; With adds the reconcile for a [Manager]; Run runs until its context ends, as does RunPacked, which does
	// not decode the objects; Engage adds another cluster; ReconcileAll and Resize change what a running controller does;
	// Health, Runs, Metrics and Inspect report its state. See [controller.Controller].
	Controller[K any] = controller.Controller[K]
	// ControllerOptions are the options of [NewController]: Name, Concurrency, Retry, Logger, OnResult, SyncTimeout,
	// RunTimeout, StopTimeout, HoldTimeout, IgnoreOwnWrites, OnGone, Debounce, MaxDebounce,
	// RecordChanges. See [controller.Options].
	ControllerOptions = controller.Options
	// Backoff says when failed runs are repeated, for ControllerOptions.Retry: InitialBackoff, MaxBackoff, Jitter. See
	// [applier.Backoff].
	Backoff = applier.Backoff
	// Reconcile is the function that a controller calls for an object: func(context.Context, *K) (Action, error). See
	// [controller.Reconcile].
	Reconcile[K any] = controller.Reconcile[K]
	// Action is the next run that a successful reconcile requests: [AwaitChange] or [RequeueAfter]. See
	// [controller.Action].
	Action = controller.Action
	// Runner is a controller with its reconcile, for a [Manager]. Controller.With returns one. Methods: Run; Name,
	// Health, Runs, Metrics and Inspect report its state; a manager calls Caches, Owners, Shard, Standby, Ready and
	// SyncTimeout. See [controller.Runner].
	Runner = controller.Runner
	// Trigger starts runs besides the changes of the controller's own kind: the result of Map of a [Source], or of [On].
	// See [controller.Trigger].
	Trigger = controller.Trigger
	// Predicate decides which changes cause runs, for the method Where of [For] and [Source]: the result of
	// [GenerationChanged], [PredicateOf] and others. See [controller.Predicate].
	Predicate = controller.Predicate
	// Result describes one run of a reconcile, for ControllerOptions.OnResult: the fields of [Run], Action, Err, Failures,
	// RetryIn, Took. See [controller.Result].
	Result = controller.Result
	// Run describes the run of a reconcile: Key, Priority, Waited, Causes, MoreCauses. [RunOf] returns it. See
	// [controller.Run].
	Run = controller.Run
	// Cause is an event that caused a run: Type, Source, Object. Methods: String, ChangedFields. See
	// [controller.Cause].
	Cause = controller.Cause
	// Key identifies a reconciled object: Cluster, which is empty in programs that use one cluster, and Ref. See
	// [controller.Key].
	Key = controller.Key
)

// NewController returns a controller of the objects of p, which [For] or [ForView] returns. See [controller.New].
func NewController[K any](p controller.Primary[K], o *ControllerOptions) *Controller[K] {
	return controller.New(p, o)
}

// For returns the kind that a controller reconciles: all objects of K in a cache. See [controller.For].
func For[K any, P core.ObjectPtr[K]](c *Cache) controller.Primary[K] { return controller.For[K, P](c) }

// ForView returns the kind that a controller reconciles: the objects of one or more views, of several namespaces or
// clusters. See [controller.ForView].
func ForView[K any](v *View[K], more ...*View[K]) controller.Primary[K] {
	return controller.ForView(v, more...)
}

// Source returns another kind whose changes a controller acts on: all objects of K in a cache. Pass it to Owns; or pass
// the result of its method Map, whose callback returns the objects to reconcile, to Watches. See [controller.Source].
func Source[K any, P core.ObjectPtr[K]](c *Cache) controller.Secondary[K] {
	return controller.Source[K, P](c)
}

// SourceView is [Source] for the objects of one or more views, which Owns and Watches do not take themselves. See
// [controller.SourceView].
func SourceView[K any](v *View[K], more ...*View[K]) controller.Secondary[K] {
	return controller.SourceView(v, more...)
}

// GenerationChanged returns the predicate for modifications of the spec: For[K](cache).Where(GenerationChanged()). See
// [controller.GenerationChanged].
func GenerationChanged() Predicate { return controller.GenerationChanged() }

// LabelsChanged returns the predicate for modifications of labels. See [controller.LabelsChanged].
func LabelsChanged() Predicate { return controller.LabelsChanged() }

// AnnotationsChanged returns the predicate for modifications of annotations. See [controller.AnnotationsChanged].
func AnnotationsChanged() Predicate { return controller.AnnotationsChanged() }

// PredicateOf returns a predicate that compares the two states of a modified object. See [controller.PredicateOf].
func PredicateOf[K any, P core.ObjectPtr[K]](f func(before, after *K) bool) Predicate {
	return controller.PredicateOf[K, P](f)
}

// AnyOf returns the predicate that holds if at least one of several does. See [controller.AnyOf].
func AnyOf(predicates ...Predicate) Predicate {
	return controller.AnyOf(predicates...)
}

// On returns a trigger that reconciles the objects whose keys are in a sequence, such as those of messages from outside
// the cluster. Pass it to Watches. See [controller.On].
func On(keys func(ctx context.Context) iter.Seq[Key]) Trigger { return controller.On(keys) }

// AwaitChange returns the action that requests no run: the next change causes the next run. See
// [controller.AwaitChange].
func AwaitChange() Action { return controller.AwaitChange() }

// RequeueAfter returns the action that requests a run after d. If d is zero or negative, the run comes as soon as the
// back-off allows. See [controller.RequeueAfter].
func RequeueAfter(d time.Duration) Action { return controller.RequeueAfter(d) }

// Terminal marks an error that a retry can't fix: the controller runs the object again only after a change, and [Await]
// ends with the error of its condition. See [core.Terminal].
func Terminal(err error) error { return core.Terminal(err) }

// RunOf returns the [Run] of a reconcile or of a callback of Map, whose context is ctx. See [controller.RunOf].
func RunOf(ctx context.Context) (Run, bool) { return controller.RunOf(ctx) }

// Logger returns the logger for a reconcile or a callback of Map, whose context is ctx. Its records have the name of
// the controller, the kind and the object. See [controller.Logger].
func Logger(ctx context.Context) *slog.Logger { return controller.Logger(ctx) }

// FinalizerFuncs are the two functions of [Finalize]: Apply and Cleanup. See [finalizer.Funcs].
type FinalizerFuncs[K any] = finalizer.Funcs[K]

// Finalize keeps a finalizer on an object while it may have something to clean up: it calls Apply, or Cleanup when the
// object is being deleted, and then removes the finalizer. Call it in a reconcile and return its results. For an object
// that has nothing to clean up any more, call [finalizer.Remove] instead. See [finalizer.Reconcile].
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
	// RecorderOptions are the options of [NewRecorder]: Controller, Instance, QueueSize, RequestsPerSecond, StopTimeout,
	// Logger. See [events.Options].
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

// Managers.
type (
	// Manager runs the controllers and servers of a program together. [NewManager] returns one. Methods: Add adds what
	// only the leader runs, AddToAll what every replica runs, AddReadinessCheck a check of readiness, AddLivenessCheck
	// one of liveness, AddTable a table of the debug page; Run runs everything until its context ends; Leading; Sharding;
	// Metrics returns the metrics of what was added; Fence refuses writes outside of a term. See [manager.Manager].
	Manager = manager.Manager
	// ManagerOptions are the options of [NewManager]: LeaderElection, ElectionOptions, Sharding, ShardingOptions,
	// HealthAddr, MetricsAddr, MetricsHandler, DebugAddr, StopTimeout, Logger. See [manager.Options].
	ManagerOptions = manager.Options
	// ElectionOptions are options of ManagerOptions: Namespace, Identity, LeaseDuration, RenewDeadline, RetryPeriod,
	// Labels, Annotations, Logger, and Name, which the manager sets. See [election.Options].
	ElectionOptions = election.Options
	// ShardingOptions are options of ManagerOptions: Namespace, Identity, ByNamespace, LeaseDuration, RenewDeadline,
	// RetryPeriod, Logger, and Name, which the manager sets. See [sharding.Options].
	ShardingOptions = sharding.Options
)

// NewManager returns a manager, to which controllers are added: m.Add(NewController(For[K](cache),
// nil).With(reconcile)). See [manager.New].
func NewManager(c *Client, o *ManagerOptions) *Manager { return manager.New(c, o) }
