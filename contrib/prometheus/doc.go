// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeprometheus has the metrics of clients, and those of package metrics, for the Prometheus library: of
// controllers, caches, state machines, elections, shards and webhooks. Without the library, see package metrics.
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
// A request is counted when it ends, and so are its bytes: those of a watch are added at its end. For watches, logs and
// proxied requests, the duration ends when the header of the response was received. The code is the HTTP status, or
// "error" without a response. A resource is a plural with its group, such as deployments.apps. It is empty for a
// request without a resource, such as one for /version.
//
// # Controllers and the other parts of a program
//
// A [Collector] has the metrics of a registry of package metrics, such as those of a manager:
//
//	registry.MustRegister(kubeprometheus.NewCollector(m.Metrics()))
//
// Then set the manager's Options.MetricsHandler to the handler of package promhttp. For constant labels, use
// prometheus.WrapRegistererWith.
//
// # Cardinality
//
// No label contains a name, a namespace, a path or another value that grows with the number of objects in the cluster.
// Values from the program or the server are bounded: after [Options].MaxResources different resources and subresources,
// further ones are counted as "other", as are unknown verbs and codes.
//
// # Concurrency
//
// [Metrics] may be shared by many clients. A [Collector] is safe for concurrent use.
package kubeprometheus
