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
// A [Registry] reads the numbers on each request, and causes no work between requests. The caches of the
// views of a [controller.Runner], and the state machines that its reconcile uses, need not be added.
//
// Package contrib/prometheus has a collector of the same metrics, for programs that use the Prometheus library.
//
// # Names
//
// Metrics that mean the same as those of controller-runtime and client-go have their names, so that dashboards and
// alerts for them work. https://github.com/kube-go/sdk/blob/main/docs/metrics.md lists all metrics with their labels.
//
// # Cardinality
//
// The number of series depends on the program's controllers, sources, states, transitions and leases; the watches of a
// resource share their series. No label has the name or the namespace of an object, or another value that grows with
// the number of objects in the cluster.
//
// # Concurrency
//
// A [Registry] is safe for concurrent use.
package metrics
