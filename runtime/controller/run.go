// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/internal/origin"
)

// Run describes the run of a reconcile, and why it runs.
type Run struct {
	Key Key // of the object

	// Priority is the highest priority of the run's causes: [applier.Low] if there is nothing but initial objects and
	// [Controller.ReconcileAll]. A retry, and a run that a run has requested, have the priority of that run.
	Priority applier.Priority

	// Waited is the time that the object has waited for a worker.
	Waited time.Duration

	// Causes are the events since the last run, in order, at most 8. MoreCauses is the number of the events that followed
	// them. An event that happens while the object waits is a cause of the same run.
	Causes     []Cause
	MoreCauses int
}

// RunOf returns the run of a reconcile, for its context. For the context of a function of [Secondary.Map], the run is
// the call, and Key the changed object. For other contexts it returns false.
func RunOf(ctx context.Context) (Run, bool) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return Run{}, false
	}
	return runOf(r.item), true
}

// causeAttrs returns the attributes of a log record that tell why a run takes place: the first cause, and the number of
// the others.
func (r Run) causeAttrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("cause", r.Causes[0].String())}
	if more := len(r.Causes) - 1 + r.MoreCauses; more > 0 {
		attrs = append(attrs, slog.Int("moreCauses", more))
	}
	return attrs
}

type runKey struct{}

// run is the context of a run. It makes the logger of the run only on demand, since most runs log nothing.
type run struct {
	context.Context //nolint:containedctx // it is a context
	worker          *worker
	item            applier.Item[Key, *event]
	begun           time.Time
	server          string // of the reconciled object, or empty
	writes          atomic.Pointer[writes]
}

// String describes the run for errors.
func (r *run) String() string {
	if r.worker.maps.Kind != "" {
		return fmt.Sprintf("the call of Map for %s %s", r.worker.maps, r.item.Key)
	}
	return "the run of " + r.item.Key.String()
}

// explain adds the cause to the error of a run whose context has ended after [Options.RunTimeout].
func (r *run) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		if cause, timedOut := errors.AsType[*timeoutError](context.Cause(r)); timedOut {
			return fmt.Errorf("%w: %w", cause, err)
		}
	}
	return err
}

// Value returns the context itself for runKey, and the server of the object for the key of package origin.
func (r *run) Value(key any) any {
	switch key {
	case runKey{}:
		return r
	case origin.Key{}:
		return r.server
	}
	return r.Context.Value(key)
}

// Logger returns the logger of a run, for the context of its reconcile or of a function of [Secondary.Map]: the records
// have the name of the controller, the kind and the object, the cluster if it has a name, the first cause of the run,
// and the number of other causes. For other contexts it returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return slog.Default()
	}
	var args []any
	for _, attr := range append(r.item.Key.attrs(r.worker.kind), runOf(r.item).causeAttrs()...) {
		args = append(args, attr)
	}
	return r.worker.logger.With(args...)
}
