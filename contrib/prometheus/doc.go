// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeprometheus has the metrics of clients, controllers, caches and state machines, for Prometheus.
//
// # Clients
//
// Register its [Metrics] with the program's registry, and add their middleware to each attempt of a client:
//
//	metrics := kubeprometheus.New(nil)
//	registry.MustRegister(metrics)
//	c, err := kube.NewClient(ctx, &kube.ClientOptions{
//		PerAttempt: []kube.Middleware{middleware.Observe(metrics.Observe)},
//		RateLimit:  &kube.RateLimitOptions{PerSecond: 50, OnWait: metrics.Waited}, // optional
//	})
//
// The metrics:
//
//	kube_client_requests_total{verb,resource,subresource,code}  counter: completed HTTP requests
//	kube_client_retries_total{verb,resource,subresource}        counter: those that were not the first attempt
//	kube_client_response_bytes_total{verb,resource,subresource} counter: bytes read from responses, decompressed
//	kube_client_request_duration_seconds{verb}                  histogram: until the response was read
//	kube_client_requests_in_flight{verb}                        gauge: open watches have verb="watch"
//	kube_client_rate_limit_wait_seconds                         histogram: waits for the RateLimitOptions
//
// For watches, logs and proxied requests, the duration ends when the header of the response was received. The code is
// the HTTP status, or "error" if there was no response. A resource is a plural with its group, such as
// deployments.apps. It is empty for a request without a resource, such as one for /version.
//
// # Controllers, caches and state machines
//
// A [Runtime] reads the numbers of the program's controllers, caches and machines when it is collected:
//
//	metrics := kubeprometheus.NewRuntime(nil)
//	err := metrics.AddController(ctl)
//	metrics.AddCache(cache)
//	metrics.AddMachine(machine)
//	registry.MustRegister(metrics)
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
// The workqueue metrics begin again with each Run. The others:
//
//	kube_controller_held_objects{controller}         gauge: held back until the caches have observed their own writes
//	kube_controller_hold_timeouts_total{controller}  counter: released after the HoldTimeout
//	kube_controller_delayed_objects{controller}      gauge: with a delayed run, a retry or a hold
//	kube_controller_mapping_objects{controller}      gauge: changes that wait for the function of a Map
//	kube_controller_oldest_wait_seconds{controller}  gauge: of the objects that wait for a worker
//	kube_controller_ready_sources{controller,cluster,resource}    gauge
//	kube_controller_failing_sources{controller,cluster,resource}  gauge: whose last request has failed
//
//	kube_watches{cluster,resource,phase}                    gauge: Listing, Opening, Watching, BackingOff or Stopped
//	kube_watches_failing{cluster,resource}                  gauge: whose last request has failed
//	kube_watch_consecutive_failures{cluster,resource}       gauge: the highest number of failed requests of a watch
//	kube_watch_objects{cluster,resource}                    gauge: objects in the cache
//	kube_watch_lists_total{cluster,resource}                counter: complete lists of the current watches
//	kube_watch_data_age_seconds{cluster,resource}           gauge: time without an object or a bookmark
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
// # Cardinality
//
// The series of controllers and machines are as many as the program has controllers, sources, states and transitions;
// the watches of a resource share their series. No label contains a name, a namespace, a path or another value that
// grows with the number of objects in the cluster. Values from the program or the server are bounded: after
// [Options].Resources different resources and subresources, further ones are counted as "other", as are unknown verbs
// and codes.
//
// # Concurrency
//
// [Metrics] may be shared by many clients. A [Runtime] is safe for concurrent use.
package kubeprometheus
