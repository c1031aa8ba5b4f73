// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/metrics"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

// fixed is a controller and a machine with fixed numbers. The controller uses the machine, and others.
type fixed struct {
	metrics  controller.Metrics
	health   []controller.SourceHealth
	overview fsm.Overview
	others   []any
}

func (f *fixed) Metrics() controller.Metrics       { return f.metrics }
func (f *fixed) Health() []controller.SourceHealth { return f.health }
func (f *fixed) Overview() *fsm.Overview           { return &f.overview }
func (f *fixed) Caches() []*cache.Cache            { return nil }
func (f *fixed) Owners() []any                     { return append([]any{f}, f.others...) }

var pods = core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

// numbers returns parts whose numbers are all different.
func numbers() *fixed {
	f := &fixed{
		metrics: controller.Metrics{
			Name: "docs",
			Applier: applier.Stats{
				Ready: 1, Running: 2, Held: 3, Delayed: 4, OldestWait: 5 * time.Second, Adds: 6, Retries: 7, Overdue: 8,
			},
			Mapping: 9, OldestRun: 10 * time.Second,
			Workers: 11, Unfinished: 12 * time.Second,
			Succeeded: 13, RequeuedNow: 14, RequeuedLater: 15, Failed: 16, Terminal: 17, Panics: 18, Timeouts: 19,
			Waited: histogram.Histogram{
				Count: 20, Sum: 21 * time.Second, Buckets: []histogram.Bucket{{UpperBound: time.Second, Count: 1}},
			},
			Took: histogram.Histogram{
				Count: 22, Sum: 23 * time.Second,
				Buckets: []histogram.Bucket{{UpperBound: time.Millisecond, Count: 2}, {UpperBound: time.Second, Count: 3}},
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
		Failed: 9,
	}}
	f.overview.Transitions = []fsm.TransitionOverview{
		{GraphTransition: fsm.GraphTransition{From: "Provision", To: "Serve"}, Taken: 9},
	}
	return f
}

// TestNumbersBecomeMetrics checks the name, the labels and the value of each metric. The numbers of two machines with
// the same name are added; a machine that is used twice counts once.
func TestNumbersBecomeMetrics(t *testing.T) {
	f, other, r := numbers(), numbers(), metrics.NewRegistry()
	f.others = []any{other, other}
	if err := r.AddController(f); err != nil {
		t.Fatal(err)
	}
	if err := r.AddController(numbers()); err == nil || !strings.Contains(err.Error(), `two controllers are named "docs"`) {
		t.Errorf("AddController() = %v for a second controller with the same name", err)
	}
	const want = `
controller_runtime_reconcile_total{controller="docs",result="error"} 16
controller_runtime_reconcile_total{controller="docs",result="requeue"} 14
controller_runtime_reconcile_total{controller="docs",result="requeue_after"} 15
controller_runtime_reconcile_total{controller="docs",result="success"} 13
controller_runtime_reconcile_errors_total{controller="docs"} 16
controller_runtime_terminal_reconcile_errors_total{controller="docs"} 17
controller_runtime_reconcile_panics_total{controller="docs"} 18
controller_runtime_reconcile_timeouts_total{controller="docs"} 19
controller_runtime_reconcile_time_seconds_bucket{controller="docs",le="0.001"} 2
controller_runtime_reconcile_time_seconds_bucket{controller="docs",le="1"} 3
controller_runtime_reconcile_time_seconds_bucket{controller="docs",le="+Inf"} 22
controller_runtime_reconcile_time_seconds_sum{controller="docs"} 23
controller_runtime_reconcile_time_seconds_count{controller="docs"} 22
controller_runtime_max_concurrent_reconciles{controller="docs"} 11
controller_runtime_active_workers{controller="docs"} 2
workqueue_depth{name="docs",controller="docs"} 1
workqueue_adds_total{name="docs",controller="docs"} 6
workqueue_retries_total{name="docs",controller="docs"} 7
workqueue_queue_duration_seconds_bucket{name="docs",controller="docs",le="1"} 1
workqueue_queue_duration_seconds_bucket{name="docs",controller="docs",le="+Inf"} 20
workqueue_queue_duration_seconds_sum{name="docs",controller="docs"} 21
workqueue_queue_duration_seconds_count{name="docs",controller="docs"} 20
workqueue_work_duration_seconds_bucket{name="docs",controller="docs",le="0.001"} 2
workqueue_work_duration_seconds_bucket{name="docs",controller="docs",le="1"} 3
workqueue_work_duration_seconds_bucket{name="docs",controller="docs",le="+Inf"} 22
workqueue_work_duration_seconds_sum{name="docs",controller="docs"} 23
workqueue_work_duration_seconds_count{name="docs",controller="docs"} 22
workqueue_unfinished_work_seconds{name="docs",controller="docs"} 12
workqueue_longest_running_processor_seconds{name="docs",controller="docs"} 10
kube_controller_held_objects{controller="docs"} 3
kube_controller_hold_timeouts_total{controller="docs"} 8
kube_controller_delayed_objects{controller="docs"} 4
kube_controller_mapping_objects{controller="docs"} 9
kube_controller_oldest_wait_seconds{controller="docs"} 5
kube_controller_ready_sources{controller="docs",cluster="a",resource="pods"} 1
kube_controller_failing_sources{controller="docs",cluster="a",resource="pods"} 1
kube_machine_objects{machine="example.com/database",state="Serve"} 2
kube_machine_failed_objects{machine="example.com/database",state="Serve"} 18
kube_machine_failing_objects{machine="example.com/database",state="Serve"} 4
kube_machine_stuck_objects{machine="example.com/database",state="Serve"} 6
kube_machine_suspended_objects{machine="example.com/database",state="Serve"} 8
kube_machine_oldest_seconds{machine="example.com/database",state="Serve"} 5
kube_machine_max_visits{machine="example.com/database",state="Serve"} 6
kube_machine_step_failures_total{machine="example.com/database",state="Serve"} 14
kube_machine_restarts_total{machine="example.com/database",state="Serve"} 16
kube_machine_transitions_total{machine="example.com/database",from="Provision",to="Serve"} 18
`
	checkSamples(t, r, want)
}

// TestPartsOfARegistryHaveMetrics checks that the metrics of each part are served, of a part that was added twice only
// once, and that nil is an error.
func TestPartsOfARegistryHaveMetrics(t *testing.T) {
	r, server := metrics.NewRegistry(), webhook.NewServer(nil, nil)
	server.Handle("/validate", http.NotFoundHandler())
	elector := election.New(nil, &election.Options{Name: "shop"})
	member := sharding.New(nil, &sharding.Options{Name: "shards"})
	for range 2 {
		for _, err := range []error{
			r.AddElector(elector), r.AddMember(member), r.AddWebhookServer(server),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{
		r.AddController(nil), r.AddCache(nil), r.AddElector(nil), r.AddMember(nil), r.AddWebhookServer(nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("the error of nil is %v", err)
		}
	}
	text := textOf(r)
	for _, want := range []string{
		`leader_election_master_status{name="shop"} 0`,
		`kube_sharding_slots{name="shards"} 0`,
		`controller_runtime_webhook_requests_total{webhook="/validate",code="200"} 0`,
	} {
		if n := strings.Count(text, want+"\n"); n != 1 {
			t.Errorf("the metrics have %s %d times, want once:\n%s", want, n, text)
		}
	}
}

// textOf returns the text of a registry, without the metrics of the process, which are the last ones.
func textOf(r *metrics.Registry) string {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, nil)
	text, _, _ := strings.Cut(w.Body.String(), "# HELP go_goroutines")
	return text
}

// checkSamples compares the samples of a registry, one per line.
func checkSamples(t *testing.T, r *metrics.Registry, want string) {
	t.Helper()
	var lines strings.Builder
	for line := range strings.Lines(textOf(r)) {
		if !strings.HasPrefix(line, "#") {
			lines.WriteString(line)
		}
	}
	if got := lines.String(); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("the metrics are\n%s\nwant\n%s", got, want)
	}
}

// TestTextIsEscaped checks the syntax of texts and numbers. Package contrib/prometheus also compares it with the
// library's.
func TestTextIsEscaped(t *testing.T) {
	r := metrics.NewRegistry()
	err := r.AddFamilies(func() []metrics.Family {
		return []metrics.Family{
			{
				Name: "a", Help: "a \\ and\na \"quote\"", Type: metrics.Gauge, Labels: []string{"l"},
				Samples: []metrics.Sample{{Labels: []string{"a \\ and\na \"quote\""}, Value: 1.5e9}},
			},
			{Name: "empty", Help: "has no samples", Type: metrics.Counter},
			{Name: "b", Help: "b", Type: metrics.Counter, Samples: []metrics.Sample{{Value: 0}}},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# HELP a a \\ and\na "quote"
# TYPE a gauge
a{l="a \\ and\na \"quote\""} 1.5e+09
# HELP b b
# TYPE b counter
b 0
`
	if got := textOf(r); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
}

// BenchmarkServe reports the cost of serving the metrics of a controller, a machine, an elector and the process.
func BenchmarkServe(b *testing.B) {
	f, r := numbers(), metrics.NewRegistry()
	if err := r.AddController(f); err != nil {
		b.Fatal(err)
	}
	if err := r.AddElector(election.New(nil, &election.Options{Name: "shop"})); err != nil {
		b.Fatal(err)
	}
	request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	for b.Loop() {
		r.ServeHTTP(httptest.NewRecorder(), request)
	}
}

func TestRegistryHasFamiliesOfOtherParts(t *testing.T) {
	r := metrics.NewRegistry()
	guests := func() []metrics.Family {
		return []metrics.Family{{
			Name: "kube_wasm_wakes_total", Help: "Wakes.", Type: metrics.Counter, Labels: []string{"module"},
			Samples: []metrics.Sample{{Labels: []string{"b"}, Value: 2}, {Labels: []string{"a"}, Value: 1}},
		}}
	}
	if err := r.AddFamilies(guests); err != nil {
		t.Fatal(err)
	}
	text := textOf(r)
	want := "kube_wasm_wakes_total{module=\"a\"} 1\nkube_wasm_wakes_total{module=\"b\"} 2\n"
	if !strings.Contains(text, want) {
		t.Errorf("the metrics do not contain\n%sbut are\n%s", want, text)
	}
	err := r.AddFamilies(guests)
	if err == nil || !strings.Contains(err.Error(), "kube_wasm_wakes_total") {
		t.Errorf("Add of the same families = %v, want an error that names the metric", err)
	}
	for _, name := range []string{"workqueue_depth", "go_goroutines", "twice"} {
		twice := []metrics.Family{{Name: "twice", Type: metrics.Gauge}, {Name: name, Type: metrics.Gauge}}
		if err := r.AddFamilies(func() []metrics.Family { return twice }); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Add of %s, which exists = %v, want an error that names it", name, err)
		}
	}
	if err := r.AddFamilies(nil); err == nil || !strings.Contains(err.Error(), "is nil") {
		t.Errorf("Add(nil) = %v", err)
	}
}

// TestInvalidFamiliesAreErrors checks that a family that would make all metrics unreadable is refused by its name.
func TestInvalidFamiliesAreErrors(t *testing.T) {
	for _, tt := range []struct {
		want string
		in   metrics.Family
	}{
		{`the name "orders-total"`, metrics.Family{Name: "orders-total", Type: metrics.Counter}},
		{`the name "1st_total"`, metrics.Family{Name: "1st_total", Type: metrics.Counter}},
		{`the name "größe"`, metrics.Family{Name: "größe", Type: metrics.Gauge}},
		{`the name ""`, metrics.Family{Type: metrics.Counter}},
		{`orders_total has the type "Counter"`, metrics.Family{Name: "orders_total", Type: "Counter"}},
		{`orders_total has the type ""`, metrics.Family{Name: "orders_total"}},
		{`orders_total has the label "a-b"`, metrics.Family{
			Name: "orders_total", Type: metrics.Counter, Labels: []string{"ok", "a-b"},
		}},
		{`orders_total has the label "a:b"`, metrics.Family{
			Name: "orders_total", Type: metrics.Counter, Labels: []string{"a:b"},
		}},
		{`orders_total has the label "__name__"`, metrics.Family{
			Name: "orders_total", Type: metrics.Counter, Labels: []string{"__name__"},
		}},
		{`orders_total has the label "a" twice`, metrics.Family{
			Name: "orders_total", Type: metrics.Counter, Labels: []string{"a", "b", "a"},
		}},
		{`orders_seconds has the label "le"`, metrics.Family{
			Name: "orders_seconds", Type: metrics.Histogram, Labels: []string{"le"},
		}},
		{"", metrics.Family{Name: "a:Orders_2", Type: metrics.Gauge, Labels: []string{"le", "_b2", "Z"}}},
	} {
		r := metrics.NewRegistry()
		err := r.AddFamilies(func() []metrics.Family { return []metrics.Family{{Name: "good", Type: metrics.Gauge}, tt.in} })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Add(%+v) = %v, want %q", tt.in, err, tt.want)
		}
		if added := len(r.Families()) > len(metrics.NewRegistry().Families()); added != (err == nil) {
			t.Errorf("Add(%+v) = %v, and the families were added: %v", tt.in, err, added)
		}
	}
}

// TestAddedFamiliesMayReadTheRegistry checks that the function of another part may use the registry.
func TestAddedFamiliesMayReadTheRegistry(t *testing.T) {
	r := metrics.NewRegistry()
	for _, name := range []string{"a", "b"} {
		err := r.AddFamilies(func() []metrics.Family {
			n := len(r.Parts().Controllers)
			return []metrics.Family{{Name: name, Type: metrics.Gauge, Samples: []metrics.Sample{{Value: float64(n)}}}}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	checkSamples(t, r, "a 0\nb 0\n")
}

// TestInvalidSamplesOfOtherPartsAreLeftOut checks that a sample with wrong labels is counted and does not affect the
// others, that labels become valid UTF-8, and that the samples of the caller stay as they are.
func TestInvalidSamplesOfOtherPartsAreLeftOut(t *testing.T) {
	r := metrics.NewRegistry()
	made := func() []metrics.Family {
		return []metrics.Family{
			{
				Name: "bad", Type: metrics.Gauge, Labels: []string{"x", "y"}, Samples: []metrics.Sample{
					{Labels: []string{"z", "b\xff"}, Value: 1},
					{Labels: []string{"few"}, Value: 2},
					{Labels: []string{"too", "many", "labels"}, Value: 3},
					{Value: 4},
					{Labels: []string{"a", "b"}, Value: 5},
					{Labels: []string{"z", "b\xfe"}, Value: 6}, // the same as the first one
				},
			},
			{Name: "good", Type: metrics.Gauge, Samples: []metrics.Sample{{Value: 7}}},
		}
	}
	shared := made()
	if err := r.AddFamilies(func() []metrics.Family { return shared }); err != nil {
		t.Fatal(err)
	}
	checkSamples(t, r, `
kube_metrics_invalid_samples{metric="bad"} 4
bad{x="a",y="b"} 5
bad{x="z",y="b`+"\uFFFD"+`"} 1
good 7
`)
	if diff := cmp.Diff(made(), shared); diff != "" {
		t.Errorf("the samples of the caller were changed (-want +got):\n%s", diff)
	}
}
