// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeprometheus counts and times the requests of a client, for Prometheus.
//
// Register its [Metrics] where the program registers its own, and put their layer around each attempt of a client:
//
//	metrics := kubeprometheus.New(nil)
//	registry.MustRegister(metrics)
//	c, err := kube.NewClient(ctx, &kube.ClientOptions{
//		PerAttempt: []kube.Middleware{kube.Observe(metrics.Observe)},
//		RateLimit:  &kube.RateLimitOptions{PerSecond: 50, OnWait: metrics.Waited}, // if there is to be a limit
//	})
//
// # Metrics
//
//	kube_client_requests_total{verb,resource,subresource,code}  counter: HTTP requests that are over
//	kube_client_retries_total{verb,resource,subresource}        counter: those that were not the first attempt
//	kube_client_response_bytes_total{verb,resource,subresource} counter: what was read of answers, decompressed
//	kube_client_request_duration_seconds{verb}                  histogram: until the answer was read; its header, for watches, logs and what is proxied
//	kube_client_requests_in_flight{verb}                        gauge: open watches are those with verb="watch"
//	kube_client_rate_limit_wait_seconds                         histogram: waits for RateLimitOptions
//
// The code is the HTTP status, or "error" when there was no answer. A resource is a plural with its group, such as
// deployments.apps; a request that is for none, such as one for /version, has an empty one.
//
// # Cardinality
//
// No label holds a name, a namespace, a path or anything else that grows with the objects in the cluster. What comes from
// the program or the server is bounded: after [Options].Resources different resources and subresources, further ones
// are counted as "other", as are verbs and codes that nobody knows.
//
// # Concurrency
//
// Metrics may be used by many clients at once.
package kubeprometheus
