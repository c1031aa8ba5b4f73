// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	kubeprometheus "github.com/kube-go/sdk/contrib/prometheus"
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

// fixed is a controller and a machine with fixed numbers.
type fixed struct {
	metrics  controller.Metrics
	health   []controller.SourceHealth
	overview fsm.Overview
}

func (f *fixed) Metrics() controller.Metrics       { return f.metrics }
func (f *fixed) Health() []controller.SourceHealth { return f.health }
func (f *fixed) Overview() *fsm.Overview           { return &f.overview }
func (f *fixed) Caches() []*cache.Cache            { return nil }
func (f *fixed) Owners() []any                     { return []any{f} }

var pods = core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

// numbers returns a controller whose numbers are all different.
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
			Waited: histogram.Histogram{Count: 20, Sum: 21 * time.Second, Buckets: []histogram.Bucket{{UpperBound: time.Second, Count: 1}}},
			Took: histogram.Histogram{
				Count: 22, Sum: 23 * time.Second, Buckets: []histogram.Bucket{{UpperBound: time.Millisecond, Count: 2}, {UpperBound: time.Second, Count: 3}},
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

// registered returns a registry with a part of each type.
func registered(t testing.TB) *metrics.Registry {
	t.Helper()
	r, hooks := metrics.NewRegistry(), webhook.NewServer(nil, nil)
	hooks.Handle("/validate", http.NotFoundHandler())
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}})
	if err != nil {
		t.Fatal(err)
	}
	shared := cache.New(c, &cache.Options{Cluster: "a \"quoted\" \\ name\nof two lines, and \xff"})
	cache.OfResource[unstructured.Unstructured](shared, pods, nil)
	jobs := func() []metrics.Family {
		return []metrics.Family{{
			Name: "example_jobs", Help: "Jobs.", Type: metrics.Gauge, Labels: []string{"queue"}, Samples: []metrics.Sample{
				{Labels: []string{"b\xff"}, Value: 1}, {Labels: []string{"too", "many"}}, {}, {Labels: []string{"b\xfe"}},
			},
		}}
	}
	for _, err := range []error{
		r.AddController(numbers()),
		r.AddElector(election.New(nil, &election.Options{Namespace: "prod", Name: "shop"})),
		r.AddMember(sharding.New(nil, &sharding.Options{Name: "shop"})),
		r.AddWebhookServer(hooks),
		r.AddCache(shared),
		r.AddFamilies(jobs),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestTextIsThatOfTheLibrary checks that the text of a registry has the same metrics as the library's text for the
// collector, and that the library's parser and linter accept it.
func TestTextIsThatOfTheLibrary(t *testing.T) {
	r := registered(t)
	collector := kubeprometheus.NewCollector(r)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector); err != nil {
		t.Fatal(err)
	}
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var theirs bytes.Buffer
	for _, f := range gathered {
		if _, err := expfmt.MetricFamilyToText(&theirs, f); err != nil {
			t.Fatal(err)
		}
	}
	if len(gathered) != len(r.Families()) {
		t.Errorf("%d of %d families have samples", len(gathered), len(r.Families()))
	}
	ours := parse(t, served(t, r))
	for name := range parse(t, served(t, metrics.NewRegistry())) {
		delete(ours, name) // a metric of the process, which the collector does not have
	}
	if got, want := canonical(t, ours), canonical(t, parse(t, &theirs)); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	if problems, err := testutil.CollectAndLint(collector); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// TestCollectorReadsTheCurrentNumbers checks that each collection has the numbers of its time.
func TestCollectorReadsTheCurrentNumbers(t *testing.T) {
	r, stub := metrics.NewRegistry(), numbers()
	if err := r.AddController(stub); err != nil {
		t.Fatal(err)
	}
	c := kubeprometheus.NewCollector(r)
	for _, failed := range []uint64{16, 17} {
		stub.metrics.Failed = failed
		want := fmt.Sprintf(`# HELP controller_runtime_reconcile_errors_total Total number of reconciliation errors per controller.
# TYPE controller_runtime_reconcile_errors_total counter
controller_runtime_reconcile_errors_total{controller="docs"} %d
`, failed)
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), "controller_runtime_reconcile_errors_total"); err != nil {
			t.Error(err)
		}
	}
}

// TestFamilyWithOtherLabelsIsAnError checks that a family whose labels or type have changed does not end the program.
func TestFamilyWithOtherLabelsIsAnError(t *testing.T) {
	r, kind, labels := metrics.NewRegistry(), metrics.Gauge, []string{"a"}
	err := r.AddFamilies(func() []metrics.Family {
		return []metrics.Family{{
			Name: "example_jobs", Help: "Jobs.", Type: kind, Labels: labels, Samples: []metrics.Sample{{Labels: labels}},
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(kubeprometheus.NewCollector(r)); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Gather(); err != nil {
		t.Fatal(err)
	}
	labels = []string{"a", "b"}
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "example_jobs") {
		t.Errorf("Gather() = %v with other labels, want an error that names the metric", err)
	}
	labels, kind = []string{"a"}, "summary"
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), `the type "summary" is invalid`) {
		t.Errorf("Gather() = %v with an unknown type", err)
	}
}

// TestHandlerServesText checks that the parser of the library accepts what the handler serves.
func TestHandlerServesText(t *testing.T) {
	all := parse(t, served(t, registered(t)))
	for _, name := range []string{"leader_election_master_status", "go_goroutines", "go_info", "go_memstats_sys_bytes"} {
		if all[name] == nil {
			t.Errorf("the text has no %s", name)
		}
	}
	start := all["process_start_time_seconds"]
	if start == nil && runtime.GOOS == "linux" {
		t.Error("the text has no process_start_time_seconds")
	}
	if start != nil {
		age := time.Since(time.Unix(int64(start.GetMetric()[0].GetGauge().GetValue()), 0))
		if age < -time.Minute || age > time.Hour {
			t.Errorf("the process began %v ago", age)
		}
	}
}

// served returns the text that a registry serves.
func served(t *testing.T, r *metrics.Registry) io.Reader {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if f := expfmt.ResponseFormat(w.Header()); f.FormatType() != expfmt.TypeTextPlain {
		t.Errorf("the format is %q", f)
	}
	return w.Body
}

// parse parses metrics in the text format.
func parse(t *testing.T, text io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// canonical returns metrics in the text format with the names of families and labels in alphabetical order.
func canonical(t *testing.T, all map[string]*dto.MetricFamily) string {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, m := range all[name].GetMetric() {
			slices.SortFunc(m.GetLabel(), func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
		if _, err := expfmt.MetricFamilyToText(&b, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
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

// TestControllerCacheAndMachineAreObserved runs a controller with a machine, and checks what it does, that its cache
// and its machine are found, and that no label has the name of an object.
func TestControllerCacheAndMachineAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServer("slow", "fast", "quick").client()
		shared := cache.New(c, &cache.Options{Cluster: "east"})
		ctl := controller.New(controller.For[database](shared), &controller.Options{Logger: slog.New(slog.DiscardHandler)})
		runner := ctl.With(newMachine(c).Reconcile)
		parts := metrics.NewRegistry()
		if err := parts.AddController(runner); err != nil {
			t.Fatal(err)
		}
		r := kubeprometheus.NewCollector(parts)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
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
	})
}

// BenchmarkCollect reports the cost of a collection.
func BenchmarkCollect(b *testing.B) {
	r := kubeprometheus.NewCollector(registered(b))
	ch := make(chan prometheus.Metric, 1000)
	for b.Loop() {
		r.Collect(ch)
		for len(ch) > 0 {
			<-ch
		}
	}
}
