// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeotel reports a program to OpenTelemetry: the requests of a client as spans and as metrics, the runs of
// controllers and the steps of state machines as spans, and the metrics of package metrics.
//
// Pass the program's providers to [New], and add the middleware of [Telemetry] to each attempt of a client:
//
//	telemetry, err := kubeotel.New(&kubeotel.Options{
//		TracerProvider: tracerProvider,
//		MeterProvider:  meterProvider,
//		Propagator:     propagation.TraceContext{},
//	})
//	c, err := kube.NewClient(ctx, &kube.ClientOptions{
//		PerAttempt: []kube.Middleware{middleware.Observe(telemetry.Observe)},
//	})
//
// The package needs only the API of OpenTelemetry. It makes spans and metrics only with a provider; it does not use
// the global providers.
//
// # Spans
//
// Each HTTP request is a client span, a child of the span in the caller's context: "list pods", "update
// deployments.apps/status". It lasts until the response was read; for a watch, until its end. A retried request has a
// span for each attempt, with http.request.resend_count. The attributes are those of the semantic conventions for HTTP
// clients, https://opentelemetry.io/docs/specs/semconv/http/http-spans/, and kube.verb, kube.resource,
// kube.subresource, kube.namespace and kube.name. They contain no secrets: url.full omits passwords, the commands of an
// exec and the queries of proxied requests. A failed span has the type of the error, and not its text.
//
// # Spans of runs and steps
//
// [Reconcile] makes a span of each run of a controller, "reconcile database", and [Telemetry.Steps] one of each step of
// a state machine, "state Provision":
//
//	m := fsm.New[v1.Database](c, "example.com/database", &fsm.Options{OnStep: telemetry.Steps("example.com/database")})
//	err := ctl.Run(ctx, kubeotel.Reconcile(telemetry, "database", m.Reconcile))
//
// The span of a run is the parent of the spans of its steps, and the span of a step is the parent of the spans of its
// requests. Their attributes are kube.controller; kube.machine, kube.state, kube.next_state, kube.done, kube.failed and
// kube.reason; and the object's kube.cluster, kube.namespace and kube.name. The span of a run also has kube.causes, the
// events that caused it, kube.more_causes, the number of further ones, and kube.waited, the seconds for which the
// object has waited for a worker. The span of a failed run or step has the text of the error, like the log of the
// controller and the conditions of the object.
//
// # Metrics
//
// The metrics are those of https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ for clients:
//
//	http.client.request.duration    s   until the response was read, or its header for watches, logs and proxies
//	http.client.response.body.size  By  the part that was read, after decompression
//	http.client.active_requests         open watches have kube.verb=watch
//
// Their attributes are http.request.method, server.address, server.port, http.response.status_code, error.type,
// network.protocol.version, kube.verb, kube.resource and kube.subresource. The number of series does not grow with the
// number of objects in the cluster, and values from the program or the server are bounded: after [Options].MaxResources
// different resources and subresources, further ones are "other", as are unknown verbs; unknown methods are "_OTHER".
//
// [Telemetry.AddRegistry] reports the metrics of a registry of package metrics, such as that of a manager.
//
// # Concurrency
//
// A Telemetry may be shared by many clients.
package kubeotel
