// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-go/sdk/client/middleware"
	kubeotel "github.com/kube-go/sdk/contrib/otel"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

// passes makes one pass of a machine for an object, in a controller, and returns the spans: the parents, the names, the
// attributes and the texts of the errors.
func passes(t *testing.T, name string) []string {
	t.Helper()
	var got []string
	synctest.Test(t, func(t *testing.T) {
		s := newSink(t)
		telemetry := s.telemetry(t, 0)
		c := newServer(name).client(middleware.Observe(telemetry.Observe))
		m := newMachine(c, telemetry.Steps("example.com/database"))
		ctl := controller.New(controller.For[database](cache.New(newServer(name).client(), &cache.Options{Cluster: "east"})),
			&controller.Options{Logger: slog.New(slog.DiscardHandler), Retry: nil})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		run := kubeotel.Reconcile(telemetry, "database", m.Reconcile)
		_ = ctl.Run(ctx, func(ctx context.Context, obj *database) (controller.Action, error) {
			defer stop()
			return run(ctx, obj)
		})
		names := map[trace.SpanID]string{}
		for _, span := range s.spans.GetSpans() {
			names[span.SpanContext.SpanID()] = span.Name
		}
		for _, span := range s.spans.GetSpans() {
			var line strings.Builder
			line.WriteString(names[span.Parent.SpanID()] + " > " + span.Name)
			if span.SpanKind == trace.SpanKindInternal {
				line.WriteString(": " + text(span.Attributes))
			}
			for _, event := range span.Events {
				line.WriteString("; " + event.Name + " " + text(event.Attributes))
			}
			got = append(got, line.String())
		}
		<-time.After(time.Second)
	})
	slices.Sort(got)
	return got
}

// TestStepsAreSpans checks the spans of passes that are done, stay, fail and panic.
func TestStepsAreSpans(t *testing.T) {
	const failed, written = "error.type=*errors.errorString ", "reconcile database > apply databases.example.com/status"
	run := func(name, err string) string {
		return " > reconcile database: " + err + `kube.causes=["initial databases.example.com east:prod/` + name +
			`"] kube.cluster=east kube.controller=database kube.name=` + name + " kube.namespace=prod kube.waited=0"
	}
	step := func(name, err, done, next, state string) string {
		return "reconcile database > state " + state + ": " + err + "kube.cluster=east " + done +
			"kube.machine=example.com/database kube.name=" + name + " kube.namespace=prod " + next + "kube.state=" + state
	}
	exception := func(text, typ string) string {
		return "; exception exception.message=" + text + " exception.type=" + typ
	}
	for name, want := range map[string][]string{
		"orders": {
			run("orders", ""), written,
			step("orders", "", "kube.done=false ", "kube.next_state=Serve ", "Provision"),
			step("orders", "", "kube.done=true ", "", "Serve"),
		},
		"slow": {
			run("slow", ""), written, step("slow", "", "kube.done=false ", "kube.reason=waiting for replicas ", "Provision"),
		},
		"broken": {
			run("broken", failed) + exception("state Provision: no replicas", "*fmt.wrapError"), written,
			step("broken", failed, "", "", "Provision") + exception("no replicas", "*errors.errorString"),
		},
		"wild": {
			run("wild", failed) + exception("the reconcile has panicked", "*errors.errorString"),
			step("wild", failed, "", "", "Provision") + exception("the step has panicked", "*errors.errorString"),
		},
	} {
		if diff := cmp.Diff(want, passes(t, name)); diff != "" {
			t.Errorf("%s: spans (-want +got):\n%s", name, diff)
		}
	}
}
