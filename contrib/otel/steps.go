// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
)

// Steps returns a hook for [fsm.Options].OnStep, which makes a span of each step of the machine with the name.
func (t *Telemetry) Steps(machine string) fsm.StepHook {
	return func(ctx context.Context, state string) (context.Context, func(fsm.Stepped)) {
		ctx, span := t.tracer.Start(ctx, "state "+state, trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(attribute.String("kube.machine", machine), attribute.String("kube.state", state)))
		describe(ctx, span)
		return ctx, func(s fsm.Stepped) {
			defer span.End()
			if s.Err != nil {
				fail(span, s.Err)
				return
			}
			span.SetAttributes(attribute.Bool("kube.done", s.Done))
			if s.Failed {
				span.SetAttributes(attribute.Bool("kube.failed", true))
			}
			if s.Next != "" {
				span.SetAttributes(attribute.String("kube.next_state", s.Next))
			}
			if s.Reason != "" {
				span.SetAttributes(attribute.String("kube.reason", s.Reason))
			}
		}
	}
}

// Reconcile returns a reconcile that makes a span of each run of r, which is the parent of the spans of its requests
// and of its steps. The name is that of the controller.
func Reconcile[K any](t *Telemetry, name string, r controller.Reconcile[K]) controller.Reconcile[K] {
	return func(ctx context.Context, obj *K) (action controller.Action, err error) {
		ctx, span := t.tracer.Start(ctx, "reconcile "+name, trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(attribute.String("kube.controller", name)))
		describe(ctx, span)
		explain(ctx, span)
		err = errPanicked // overwritten if r returns
		defer func() {
			if err != nil {
				fail(span, err)
			}
			span.End()
		}()
		return r(ctx, obj)
	}
}

// errPanicked is the error of the span of a run that has panicked.
var errPanicked = errors.New("the reconcile has panicked")

// describe adds the object of a run to a span.
func describe(ctx context.Context, span trace.Span) {
	if !span.IsRecording() {
		return
	}
	run, _ := controller.RunOf(ctx)
	for _, a := range []struct{ key, value string }{
		{"kube.cluster", run.Key.Cluster}, {"kube.namespace", run.Key.Ref.Namespace}, {"kube.name", run.Key.Ref.Name},
	} {
		if a.value != "" {
			span.SetAttributes(attribute.String(a.key, a.value))
		}
	}
}

// explain adds to the span of a run why it runs, and how long its object has waited for a worker.
func explain(ctx context.Context, span trace.Span) {
	run, ok := controller.RunOf(ctx)
	if !ok || !span.IsRecording() {
		return
	}
	causes := make([]string, len(run.Causes))
	for i, c := range run.Causes {
		causes[i] = c.String()
	}
	span.SetAttributes(attribute.StringSlice("kube.causes", causes), attribute.Float64("kube.waited", run.Waited.Seconds()))
	if run.MoreCauses > 0 {
		span.SetAttributes(attribute.Int("kube.more_causes", run.MoreCauses))
	}
}

// fail records an error.
func fail(span trace.Span, err error) {
	span.RecordError(err)
	span.SetAttributes(attribute.String("error.type", errorType(err)))
	span.SetStatus(codes.Error, "")
}
