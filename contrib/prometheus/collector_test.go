// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
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
