// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	kubeprometheus "github.com/kube-go/sdk/contrib/prometheus"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
)

// fixed is a controller and a machine with fixed numbers.
type fixed struct {
	metrics  controller.Metrics
	health   []controller.SourceHealth
	overview fsm.Overview
}

func (f *fixed) Metrics() controller.Metrics       { return f.metrics }
func (f *fixed) Health() []controller.SourceHealth { return f.health }
func (f *fixed) Overview() *fsm.Overview           { return &f.overview }

var pods = core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

// numbers returns a controller whose numbers are all different.
func numbers() *fixed {
	f := &fixed{
		metrics: controller.Metrics{
			Name: "docs",
			Stats: controller.Stats{
				Applier: applier.Stats{
					Ready: 1, Running: 2, Held: 3, Delayed: 4, OldestWait: 5 * time.Second, Adds: 6, Retries: 7, Overdue: 8,
				},
				Mapping: 9, OldestRun: 10 * time.Second,
			},
			Workers: 11, Unfinished: 12 * time.Second,
			Succeeded: 13, RequeuedNow: 14, RequeuedLater: 15, Failed: 16, Terminal: 17, Panics: 18, Timeouts: 19,
			Waited: controller.Histogram{Number: 20, Sum: 21 * time.Second, Buckets: []controller.Bucket{{Limit: time.Second, Number: 1}}},
			Took: controller.Histogram{
				Number: 22, Sum: 23 * time.Second, Buckets: []controller.Bucket{{Limit: time.Millisecond, Number: 2}, {Limit: time.Second, Number: 3}},
			},
		},
		health: []controller.SourceHealth{
			{Cluster: "a", Resource: pods, Ready: true},
			{Cluster: "a", Resource: pods, Err: errors.New("forbidden")},
		},
	}
	f.overview.Name = "example.com/database"
	f.overview.States = []fsm.StateOverview{{
		GraphState: fsm.GraphState{Name: "Serve"},
		Objects:    1, Failing: 2, Stuck: 3, Suspended: 4, Oldest: 5 * time.Second, Visits: 6, Failures: 7, Restarts: 8,
	}}
	f.overview.Transitions = []fsm.TransitionOverview{{GraphTransition: fsm.GraphTransition{From: "Provision", To: "Serve"}, Taken: 9}}
	return f
}

// TestNumbersBecomeMetrics checks the name, the labels and the value of each metric of controllers and machines. The
// numbers of two machines with the same name are added.
func TestNumbersBecomeMetrics(t *testing.T) {
	f := numbers()
	r := kubeprometheus.NewRuntime(&kubeprometheus.RuntimeOptions{Labels: map[string]string{"program": "shop"}})
	if err := r.AddController(f); err != nil {
		t.Fatal(err)
	}
	if err := r.AddController(numbers()); err == nil || !strings.Contains(err.Error(), `two controllers are named "docs"`) {
		t.Errorf("AddController() = %v for a second controller with the same name", err)
	}
	r.AddMachine(f)
	r.AddMachine(f)
	const want = `
controller_runtime_active_workers{controller="docs",program="shop"} 2
controller_runtime_max_concurrent_reconciles{controller="docs",program="shop"} 11
controller_runtime_reconcile_errors_total{controller="docs",program="shop"} 16
controller_runtime_reconcile_panics_total{controller="docs",program="shop"} 18
controller_runtime_reconcile_time_seconds_bucket{controller="docs",program="shop",le="0.001"} 2
controller_runtime_reconcile_time_seconds_bucket{controller="docs",program="shop",le="1"} 3
controller_runtime_reconcile_time_seconds_bucket{controller="docs",program="shop",le="+Inf"} 22
controller_runtime_reconcile_time_seconds_sum{controller="docs",program="shop"} 23
controller_runtime_reconcile_time_seconds_count{controller="docs",program="shop"} 22
controller_runtime_reconcile_timeouts_total{controller="docs",program="shop"} 19
controller_runtime_reconcile_total{controller="docs",program="shop",result="error"} 16
controller_runtime_reconcile_total{controller="docs",program="shop",result="requeue"} 14
controller_runtime_reconcile_total{controller="docs",program="shop",result="requeue_after"} 15
controller_runtime_reconcile_total{controller="docs",program="shop",result="success"} 13
controller_runtime_terminal_reconcile_errors_total{controller="docs",program="shop"} 17
kube_controller_delayed_objects{controller="docs",program="shop"} 4
kube_controller_failing_sources{cluster="a",controller="docs",program="shop",resource="pods"} 1
kube_controller_held_objects{controller="docs",program="shop"} 3
kube_controller_hold_timeouts_total{controller="docs",program="shop"} 8
kube_controller_mapping_objects{controller="docs",program="shop"} 9
kube_controller_oldest_wait_seconds{controller="docs",program="shop"} 5
kube_controller_ready_sources{cluster="a",controller="docs",program="shop",resource="pods"} 1
kube_machine_failing_objects{machine="example.com/database",program="shop",state="Serve"} 4
kube_machine_max_visits{machine="example.com/database",program="shop",state="Serve"} 6
kube_machine_objects{machine="example.com/database",program="shop",state="Serve"} 2
kube_machine_oldest_seconds{machine="example.com/database",program="shop",state="Serve"} 5
kube_machine_restarts_total{machine="example.com/database",program="shop",state="Serve"} 16
kube_machine_step_failures_total{machine="example.com/database",program="shop",state="Serve"} 14
kube_machine_stuck_objects{machine="example.com/database",program="shop",state="Serve"} 6
kube_machine_suspended_objects{machine="example.com/database",program="shop",state="Serve"} 8
kube_machine_transitions_total{from="Provision",machine="example.com/database",program="shop",to="Serve"} 18
workqueue_adds_total{controller="docs",name="docs",program="shop"} 6
workqueue_depth{controller="docs",name="docs",program="shop"} 1
workqueue_longest_running_processor_seconds{controller="docs",name="docs",program="shop"} 10
workqueue_queue_duration_seconds_bucket{controller="docs",name="docs",program="shop",le="1"} 1
workqueue_queue_duration_seconds_bucket{controller="docs",name="docs",program="shop",le="+Inf"} 20
workqueue_queue_duration_seconds_sum{controller="docs",name="docs",program="shop"} 21
workqueue_queue_duration_seconds_count{controller="docs",name="docs",program="shop"} 20
workqueue_retries_total{controller="docs",name="docs",program="shop"} 7
workqueue_unfinished_work_seconds{controller="docs",name="docs",program="shop"} 12
workqueue_work_duration_seconds_bucket{controller="docs",name="docs",program="shop",le="0.001"} 2
workqueue_work_duration_seconds_bucket{controller="docs",name="docs",program="shop",le="1"} 3
workqueue_work_duration_seconds_bucket{controller="docs",name="docs",program="shop",le="+Inf"} 22
workqueue_work_duration_seconds_sum{controller="docs",name="docs",program="shop"} 23
workqueue_work_duration_seconds_count{controller="docs",name="docs",program="shop"} 22
`
	if got := series(t, r); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("the metrics are\n%s\nwant\n%s", got, want)
	}
	problems, err := testutil.CollectAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// series returns the lines of all metrics, without their descriptions.
func series(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestControllerCacheAndMachineAreObserved runs a controller with a machine, and checks what it does, that no label has
// the name of an object, and that the numbers of a removed cache disappear.
func TestControllerCacheAndMachineAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer("slow", "fast", "quick").client()
		shared := cache.New(c, &cache.Options{Cluster: "east"})
		m := newMachine(c)
		ctl := controller.New(controller.For[database](shared), &controller.Options{Logger: slog.New(slog.DiscardHandler)})
		r := kubeprometheus.NewRuntime(nil)
		if err := r.AddController(ctl); err != nil {
			t.Fatal(err)
		}
		remove := r.AddCache(shared)
		r.AddCache(shared) // is the same
		r.AddMachine(m)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ctl.Run(ctx, m.Reconcile) }()
		<-time.After(10 * time.Second)
		synctest.Wait()
		got := series(t, r)
		for _, want := range []string{
			`controller_runtime_reconcile_total{controller="database",result="error"} 0`,
			`kube_controller_ready_sources{cluster="east",controller="database",resource="databases.example.com"} 1`,
			`kube_machine_objects{machine="example.com/database",state="Provision"} 1`,
			`kube_machine_objects{machine="example.com/database",state="Serve"} 2`,
			`kube_machine_oldest_seconds{machine="example.com/database",state="Provision"} 10`,
			`kube_machine_oldest_seconds{machine="example.com/database",state="Serve"} 0`,
			`kube_watch_consecutive_failures{cluster="east",resource="databases.example.com"} 0`,
			`kube_watch_data_age_seconds{cluster="east",resource="databases.example.com"} 10`,
			`kube_watch_lists_total{cluster="east",resource="databases.example.com"} 1`,
			`kube_watch_objects{cluster="east",resource="databases.example.com"} 3`,
			`kube_watches{cluster="east",phase="Watching",resource="databases.example.com"} 1`,
			`kube_watches_failing{cluster="east",resource="databases.example.com"} 0`,
		} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("the metrics do not have %s", want)
			}
		}
		if strings.Contains(got, "slow") || strings.Contains(got, "prod") {
			t.Errorf("the metrics have the name of an object:\n%s", got)
		}
		if t.Failed() {
			t.Log(got)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run() = %v", err)
		}
		if got := series(t, r); !strings.Contains(got, `kube_watches{cluster="east",phase="Stopped",resource="databases.example.com"} 1`) {
			t.Errorf("the watch is not stopped:\n%s", got)
		}
		remove()
		if got := series(t, r); strings.Contains(got, "kube_watch") {
			t.Errorf("the metrics have a removed cache:\n%s", got)
		}
	})
}

// BenchmarkCollect reports the cost of a collection.
func BenchmarkCollect(b *testing.B) {
	f, r := numbers(), kubeprometheus.NewRuntime(nil)
	if err := r.AddController(f); err != nil {
		b.Fatal(err)
	}
	r.AddMachine(f)
	ch := make(chan prometheus.Metric, 1000)
	for b.Loop() {
		r.Collect(ch)
		for len(ch) > 0 {
			<-ch
		}
	}
}
