// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of controllers, caches, state machines, elections, shards and webhooks, and writes
// them in the text format of Prometheus.
//
// A manager of package manager serves them without any code, see its Options.MetricsAddr. Use this package for programs
// without a manager, and for parts that a manager does not know:
//
//	registry := metrics.NewRegistry()
//	err := registry.AddController(ctl.With(reconcile))
//	http.Handle("GET /metrics", registry)
//
// A [Registry] reads the numbers when it is asked for them: the parts of the program do nothing for it meanwhile. The
// caches of a controller's views and the state machines that its reconcile uses need not be added.
//
// Package contrib/prometheus has a collector of the same metrics, for programs that use the Prometheus library.
//
// # Controllers
//
// Metrics that mean the same as those of controller-runtime have their names, so that dashboards and alerts for them
// work:
//
//	controller_runtime_reconcile_total{controller,result}           counter: success, error, requeue or requeue_after
//	controller_runtime_reconcile_errors_total{controller}           counter: failed runs
//	controller_runtime_terminal_reconcile_errors_total{controller}  counter: those that are not retried
//	controller_runtime_reconcile_panics_total{controller}           counter: those that have panicked
//	controller_runtime_reconcile_timeouts_total{controller}         counter: those that took longer than the RunTimeout
//	controller_runtime_reconcile_time_seconds{controller}           histogram: how long runs took
//	controller_runtime_max_concurrent_reconciles{controller}        gauge
//	controller_runtime_active_workers{controller}                   gauge
//	workqueue_depth{name,controller}                                gauge: objects that wait for a worker
//	workqueue_adds_total{name,controller}                           counter: without adds that collapsed
//	workqueue_retries_total{name,controller}                        counter
//	workqueue_queue_duration_seconds{name,controller}               histogram: how long objects wait for a worker
//	workqueue_work_duration_seconds{name,controller}                histogram: as reconcile_time_seconds
//	workqueue_unfinished_work_seconds{name,controller}              gauge: the sum of the ages of current runs
//	workqueue_longest_running_processor_seconds{name,controller}    gauge: the age of the oldest one
//
// Those of the workqueue, except for the histograms, begin again with each Run. The others:
//
//	kube_controller_held_objects{controller}         gauge: held back until the caches have observed their own writes
//	kube_controller_hold_timeouts_total{controller}  counter: released after the HoldTimeout
//	kube_controller_delayed_objects{controller}      gauge: with a delayed run, a retry or a hold
//	kube_controller_mapping_objects{controller}      gauge: changes that wait for the function of a Map
//	kube_controller_oldest_wait_seconds{controller}  gauge: of the objects that wait for a worker
//	kube_controller_ready_sources{controller,cluster,resource}    gauge
//	kube_controller_failing_sources{controller,cluster,resource}  gauge: whose last request has failed
//
// # Caches
//
//	kube_watches{cluster,resource,phase}               gauge: Listing, Opening, Watching, BackingOff or Stopped
//	kube_watches_failing{cluster,resource}             gauge: whose last request has failed
//	kube_watch_consecutive_failures{cluster,resource}  gauge: the highest number of failed requests of a watch
//	kube_watch_objects{cluster,resource}               gauge: objects in the cache
//	kube_watch_lists_total{cluster,resource}           counter: complete lists of the current watches
//	kube_watch_data_age_seconds{cluster,resource}      gauge: time without an object or a bookmark
//
// # State machines
//
//	kube_machine_objects{machine,state}              gauge: objects in the state
//	kube_machine_failing_objects{machine,state}      gauge: those whose last pass has failed
//	kube_machine_stuck_objects{machine,state}        gauge: those that are in it for longer than StuckAfter
//	kube_machine_suspended_objects{machine,state}    gauge
//	kube_machine_oldest_seconds{machine,state}       gauge: the time of the first one that is not done
//	kube_machine_max_visits{machine,state}           gauge: the highest number of visits
//	kube_machine_transitions_total{machine,from,to}  counter
//	kube_machine_step_failures_total{machine,state}  counter
//	kube_machine_restarts_total{machine,state}       counter
//
// # Leader election
//
// The name is that of the lease. The first metric is that of client-go:
//
//	leader_election_master_status{name}     gauge: 1 in the leader, 0 in the other replicas
//	kube_leader_election_transitions{name}  gauge: how often the lease has changed its holder
//	kube_leader_election_failing{name}      gauge: 1 if the last request for the lease has failed
//
// # Sharding
//
// The name is that of the group:
//
//	kube_sharding_slots{name}    gauge: the number of slots, of 256, that the replica owns
//	kube_sharding_members{name}  gauge: the number of members of the group
//	kube_sharding_failing{name}  gauge: 1 if the last request for the group has failed
//
// # Webhooks
//
// The webhook is the path. The names are those of controller-runtime, but conversions count, too:
//
//	controller_runtime_webhook_requests_total{webhook,code}        counter: by HTTP status
//	controller_runtime_webhook_latency_seconds{webhook}            histogram
//	controller_runtime_webhook_requests_in_flight{webhook}         gauge
//	controller_runtime_webhook_panics_total                        counter
//
// # Other metrics of controller-runtime
//
// The metrics of client-go, rest_client_requests_total and others, do not exist. Package contrib/prometheus counts the
// requests of a client, with other names, since the labels are the verb and the resource instead of the method and the
// host. The metrics certwatcher_read_certificate_total and certwatcher_read_certificate_errors_total do not exist
// either: a webhook server logs each certificate that it reads or can't read.
//
// # The process
//
// The handler also serves these metrics of Prometheus' libraries; those with a * only on Linux:
//
//	go_goroutines                    gauge
//	go_info{version}                 gauge: always 1
//	go_memstats_heap_alloc_bytes     gauge
//	go_memstats_sys_bytes            gauge
//	process_cpu_seconds_total *      counter
//	process_resident_memory_bytes *  gauge
//	process_start_time_seconds *     gauge
//
// # Cardinality
//
// The series are as many as the program has controllers, sources, states, transitions and leases; the watches of a
// resource share their series. No label has the name or the namespace of an object, or another value that grows with
// the number of objects in the cluster.
//
// # Concurrency
//
// A [Registry] is safe for concurrent use.
package metrics
