// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-go/sdk/runtime/histogram"
)

// Type is the type of a [Family], as in the text format.
type Type string

// The types.
const (
	Counter   Type = "counter" // never decreases
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Family is a metric with its samples.
type Family struct {
	Name    string
	Help    string
	Type    Type
	Labels  []string // their names
	Samples []Sample // sorted by the values of the labels
}

// check returns an error if the family would make all metrics unreadable.
func (f *Family) check() error {
	if !isName(f.Name, true) {
		return fmt.Errorf("the name %q of a metric is invalid: use letters, digits, _ and :, and no digit first", f.Name)
	}
	switch f.Type {
	case Counter, Gauge, Histogram:
	default:
		return fmt.Errorf("the metric %s has the type %q: use Counter, Gauge or Histogram", f.Name, f.Type)
	}
	for i, l := range f.Labels {
		switch {
		case !isName(l, false) || strings.HasPrefix(l, "__"):
			return fmt.Errorf("the metric %s has the label %q: use letters, digits and _, and neither a digit nor __ first",
				f.Name, l)
		case slices.Contains(f.Labels[:i], l):
			return fmt.Errorf("the metric %s has the label %q twice: remove one of them", f.Name, l)
		case l == "le" && f.Type == Histogram:
			return fmt.Errorf("the metric %s has the label %q, which is that of its buckets: use another name", f.Name, l)
		}
	}
	return nil
}

// isName reports whether a name is valid in the text format.
func isName(name string, colons bool) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || colons && c == ':'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Sample is the value of a [Family] for some values of its labels.
type Sample struct {
	Labels    []string // the values, in the order of the names
	Value     float64  // unless the type is Histogram
	Histogram histogram.Histogram
}

// table is families that are being filled.
type table struct {
	families []Family
	index    map[string]int // by name
}

func newTable(families []Family) *table {
	t := &table{families: families, index: make(map[string]int, len(families))}
	for i := range families {
		t.index[families[i].Name] = i
	}
	return t
}

// add adds a sample to a family, which exists.
func (t *table) add(name string, value float64, labels ...string) {
	t.sample(name, Sample{Value: value, Labels: labels})
}

func (t *table) histogram(name string, h histogram.Histogram, labels ...string) {
	t.sample(name, Sample{Histogram: h, Labels: labels})
}

func (t *table) sample(name string, s Sample) {
	f := &t.families[t.index[name]]
	toValid(s.Labels)
	f.Samples = append(f.Samples, s)
}

// others adds families with samples of another part of the program. It leaves out those that would make all metrics
// unreadable, and counts them.
func (t *table) others(all []Family) {
	for _, f := range all {
		valid := f
		valid.Samples = nil // the samples are the caller's
		seen := make(map[string]bool, len(f.Samples))
		for _, s := range f.Samples {
			s.Labels = slices.Clone(s.Labels)
			toValid(s.Labels)
			key := strings.Join(s.Labels, "\xff") // which no label has now
			if len(s.Labels) == len(f.Labels) && !seen[key] {
				seen[key] = true
				valid.Samples = append(valid.Samples, s)
			}
		}
		t.families = append(t.families, valid)
		if n := len(f.Samples) - len(valid.Samples); n > 0 {
			t.add("kube_metrics_invalid_samples", float64(n), f.Name)
		}
	}
}

// toValid replaces invalid UTF-8, because of which all metrics would be rejected.
func toValid(labels []string) {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
}

// sorted returns the families with sorted samples.
func (t *table) sorted() []Family {
	for i := range t.families {
		slices.SortFunc(t.families[i].Samples, func(a, b Sample) int { return slices.Compare(a.Labels, b.Labels) })
	}
	return t.families
}

// families returns the metrics of a [Registry], without samples.
func families() []Family {
	return slices.Concat(ofControllers(), ofWatches(), ofMachines(), ofElections(), ofShards(), ofWebhooks(), ofRegistry())
}

func ofControllers() []Family {
	controller, queue := []string{"controller"}, []string{"name", "controller"}
	result, source := []string{"controller", "result"}, []string{"controller", "cluster", "resource"}
	const runtime, own = "controller_runtime_", "kube_controller_"
	return []Family{
		{runtime + "reconcile_total", "Total number of reconciliations per controller.", Counter, result, nil},
		{runtime + "reconcile_errors_total", "Total number of reconciliation errors per controller.", Counter, controller, nil},
		{
			runtime + "terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller.",
			Counter, controller, nil,
		},
		{runtime + "reconcile_panics_total", "Total number of reconciliation panics per controller.", Counter, controller, nil},
		{
			runtime + "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller.",
			Counter, controller, nil,
		},
		{runtime + "reconcile_time_seconds", "Length of time per reconciliation per controller.", Histogram, controller, nil},
		{
			runtime + "max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller.",
			Gauge, controller, nil,
		},
		{runtime + "active_workers", "Number of currently used workers per controller.", Gauge, controller, nil},

		{"workqueue_depth", "Current number of objects that wait for a worker.", Gauge, queue, nil},
		{"workqueue_adds_total", "Total number of adds, not counting those merged into a pending run.", Counter, queue, nil},
		{"workqueue_retries_total", "Total number of runs that failed or asked for another as soon as possible.", Counter, queue, nil},
		{"workqueue_queue_duration_seconds", "How long objects wait for a worker.", Histogram, queue, nil},
		{"workqueue_work_duration_seconds", "How long the reconcile of an object takes.", Histogram, queue, nil},
		{"workqueue_unfinished_work_seconds", "Sum of the ages of the current reconciles.", Gauge, queue, nil},
		{"workqueue_longest_running_processor_seconds", "Age of the oldest current reconcile.", Gauge, queue, nil},

		{
			own + "held_objects", "Objects that are held back until the caches have observed their own writes.",
			Gauge, controller, nil,
		},
		{
			own + "hold_timeouts_total", "Total number of objects that were released after the hold timeout.",
			Counter, controller, nil,
		},
		{own + "delayed_objects", "Objects with a delayed or debounced run, a retry or a hold.", Gauge, controller, nil},
		{own + "mapping_objects", "Changed objects that wait for the function of a Map.", Gauge, controller, nil},
		{
			own + "oldest_wait_seconds", "How long the object that has waited longest for a worker has waited.",
			Gauge, controller, nil,
		},
		{own + "ready_sources", "Sources that have delivered their existing objects.", Gauge, source, nil},
		{own + "failing_sources", "Sources whose last request has failed.", Gauge, source, nil},
	}
}

func ofWatches() []Family {
	resource := []string{"cluster", "resource"}
	return []Family{
		{"kube_watches", "Watches of the cache by phase.", Gauge, []string{"cluster", "resource", "phase"}, nil},
		{"kube_watch_objects", "Objects in the cache.", Gauge, resource, nil},
		{"kube_watch_lists_total", "Total number of complete lists.", Counter, resource, nil},
		{"kube_watches_failing", "Watches whose last request has failed.", Gauge, resource, nil},
		{
			"kube_watch_consecutive_failures", "Highest number of consecutive failed requests of a watch.",
			Gauge, resource, nil,
		},
		{
			"kube_watch_data_age_seconds",
			"Longest time for which a running watch has received neither an object nor a bookmark.", Gauge, resource, nil,
		},
	}
}

func ofMachines() []Family {
	state := []string{"machine", "state"}
	const machine = "kube_machine_"
	return []Family{
		{machine + "objects", "Objects in the state.", Gauge, state, nil},
		{machine + "failed_objects", "Objects in the state that have ended without success.", Gauge, state, nil},
		{machine + "failing_objects", "Objects in the state whose last pass has failed.", Gauge, state, nil},
		{machine + "stuck_objects", "Objects that have been in the state for too long.", Gauge, state, nil},
		{machine + "suspended_objects", "Suspended objects in the state.", Gauge, state, nil},
		{
			machine + "oldest_seconds", "Longest time that an object that waits or is retried has been in the state.",
			Gauge, state, nil,
		},
		{machine + "max_visits", "Highest number of visits to the state of an object in it.", Gauge, state, nil},
		{machine + "step_failures_total", "Total number of steps of the state that have failed.", Counter, state, nil},
		{
			machine + "restarts_total", "Total number of steps of the state that have restarted the machine.",
			Counter, state, nil,
		},
		{machine + "transitions_total", "Total number of transitions.", Counter, []string{"machine", "from", "to"}, nil},
	}
}

func ofElections() []Family {
	name := []string{"name"}
	return []Family{
		{
			"leader_election_master_status", "Whether the replica is the leader of the lease: 1 if it is, 0 otherwise.",
			Gauge, name, nil,
		},
		{"kube_leader_election_transitions", "How often the lease has changed its holder.", Gauge, name, nil},
		{"kube_leader_election_failing", "Whether the last request for the lease has failed.", Gauge, name, nil},
	}
}

func ofShards() []Family {
	name := []string{"name"}
	return []Family{
		{"kube_sharding_slots", "The number of slots that the replica owns, of 256 in each group of the name.", Gauge, name, nil},
		{"kube_sharding_members", "The number of members of the group.", Gauge, name, nil},
		{"kube_sharding_failing", "Whether the last request for the group has failed.", Gauge, name, nil},
	}
}

func ofWebhooks() []Family {
	webhook := []string{"webhook"}
	const prefix = "controller_runtime_webhook_"
	return []Family{
		{
			prefix + "requests_total", "Total number of requests by HTTP status code.",
			Counter,
			[]string{"webhook", "code"},
			nil,
		},
		{prefix + "latency_seconds", "How long requests take.", Histogram, webhook, nil},
		{prefix + "requests_in_flight", "Current number of requests being served.", Gauge, webhook, nil},
		{prefix + "panics_total", "Total number of webhook panics.", Counter, nil, nil},
	}
}

func ofRegistry() []Family {
	metric := []string{"metric"}
	return []Family{
		{
			"kube_metrics_invalid_samples", "Samples of a metric that were left out, as their labels are invalid.",
			Gauge, metric, nil,
		},
	}
}
