// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus

import "github.com/prometheus/client_golang/prometheus"

// descs describes the metrics of a [Runtime].
type descs struct {
	// The metrics of controllers that controller-runtime has, too.
	runs, runErrors, runTerminal, runPanics, runTimeouts, runTime, maxRuns, activeRuns *prometheus.Desc
	queueDepth, queueAdds, queueRetries, queueWaited, queueWorked                      *prometheus.Desc
	queueUnfinished, queueLongest                                                      *prometheus.Desc
	held, overdue, delayed, mapping, oldestWait, sourcesReady, sourcesFailing          *prometheus.Desc
	watches, watchObjects, watchLists, watchesFailing, watchFailures, watchAge         *prometheus.Desc
	stateObjects, stateFailing, stateStuck, stateSuspended, stateOldest, stateVisits   *prometheus.Desc
	stateFailures, stateRestarts, transitions                                          *prometheus.Desc
}

func newDescs(constant map[string]string) (d descs) {
	desc := func(to **prometheus.Desc, name, help string, labels ...string) {
		*to = prometheus.NewDesc(name, help, labels, constant)
	}
	runs := func(to **prometheus.Desc, name, help string, labels ...string) {
		desc(to, "controller_runtime_"+name, help, append([]string{"controller"}, labels...)...)
	}
	runs(&d.runs, "reconcile_total", "Total number of reconciliations per controller.", "result")
	runs(&d.runErrors, "reconcile_errors_total", "Total number of reconciliation errors per controller.")
	runs(&d.runTerminal, "terminal_reconcile_errors_total",
		"Total number of terminal reconciliation errors per controller.")
	runs(&d.runPanics, "reconcile_panics_total", "Total number of reconciliation panics per controller.")
	runs(&d.runTimeouts, "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller.")
	runs(&d.runTime, "reconcile_time_seconds", "Length of time per reconciliation per controller.")
	runs(&d.maxRuns, "max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller.")
	runs(&d.activeRuns, "active_workers", "Number of currently used workers per controller.")

	queue := func(to **prometheus.Desc, name, help string) {
		desc(to, "workqueue_"+name, help, "name", "controller")
	}
	queue(&d.queueDepth, "depth", "Current number of objects that wait for a worker.")
	queue(&d.queueAdds, "adds_total", "Total number of adds, without those that collapsed.")
	queue(&d.queueRetries, "retries_total", "Total number of retries.")
	queue(&d.queueWaited, "queue_duration_seconds", "How long objects wait for a worker.")
	queue(&d.queueWorked, "work_duration_seconds", "How long the reconcile of an object takes.")
	queue(&d.queueUnfinished, "unfinished_work_seconds", "Sum of the ages of the current reconciles.")
	queue(&d.queueLongest, "longest_running_processor_seconds", "Age of the oldest current reconcile.")

	own := func(to **prometheus.Desc, name, help string, labels ...string) {
		desc(to, "kube_controller_"+name, help, append([]string{"controller"}, labels...)...)
	}
	own(&d.held, "held_objects", "Objects that are held back until the caches have observed their own writes.")
	own(&d.overdue, "hold_timeouts_total", "Total number of objects that were released after the hold timeout.")
	own(&d.delayed, "delayed_objects", "Objects with a delayed or debounced run, a retry or a hold.")
	own(&d.mapping, "mapping_objects", "Changed objects that wait for the function of a Map.")
	own(&d.oldestWait, "oldest_wait_seconds", "How long the object that has waited longest for a worker has waited.")
	own(&d.sourcesReady, "ready_sources", "Sources that have delivered their existing objects.", "cluster", "resource")
	own(&d.sourcesFailing, "failing_sources", "Sources whose last request has failed.", "cluster", "resource")

	watch := func(to **prometheus.Desc, name, help string, labels ...string) {
		desc(to, "kube_"+name, help, append([]string{"cluster", "resource"}, labels...)...)
	}
	watch(&d.watches, "watches", "Watches of the cache by phase.", "phase")
	watch(&d.watchObjects, "watch_objects", "Objects in the cache.")
	watch(&d.watchLists, "watch_lists_total", "Total number of complete lists of the current watches.")
	watch(&d.watchesFailing, "watches_failing", "Watches whose last request has failed.")
	watch(&d.watchFailures, "watch_consecutive_failures", "Highest number of consecutive failed requests of a watch.")
	watch(&d.watchAge, "watch_data_age_seconds",
		"Longest time for which a running watch has received neither an object nor a bookmark.")

	state := func(to **prometheus.Desc, name, help string) {
		desc(to, "kube_machine_"+name, help, "machine", "state")
	}
	state(&d.stateObjects, "objects", "Objects in the state.")
	state(&d.stateFailing, "failing_objects", "Objects in the state whose last pass has failed.")
	state(&d.stateStuck, "stuck_objects", "Objects that have been in the state for too long.")
	state(&d.stateSuspended, "suspended_objects", "Suspended objects in the state.")
	state(&d.stateOldest, "oldest_seconds", "How long the first object that is not done has been in the state.")
	state(&d.stateVisits, "max_visits", "Highest number of visits to the state of an object in it.")
	state(&d.stateFailures, "step_failures_total", "Total number of steps of the state that have failed.")
	state(&d.stateRestarts, "restarts_total", "Total number of steps of the state that have restarted the machine.")
	desc(&d.transitions, "kube_machine_transitions_total", "Total number of transitions.", "machine", "from", "to")
	return d
}

// all returns all descriptions.
func (d *descs) all() []*prometheus.Desc {
	return []*prometheus.Desc{
		d.runs, d.runErrors, d.runTerminal, d.runPanics, d.runTimeouts, d.runTime, d.maxRuns, d.activeRuns,
		d.queueDepth, d.queueAdds, d.queueRetries, d.queueWaited, d.queueWorked, d.queueUnfinished, d.queueLongest,
		d.held, d.overdue, d.delayed, d.mapping, d.oldestWait, d.sourcesReady, d.sourcesFailing,
		d.watches, d.watchObjects, d.watchLists, d.watchesFailing, d.watchFailures, d.watchAge,
		d.stateObjects, d.stateFailing, d.stateStuck, d.stateSuspended, d.stateOldest, d.stateVisits,
		d.stateFailures, d.stateRestarts, d.transitions,
	}
}
