// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeotel reports the requests of a client to OpenTelemetry, as spans and as metrics.
//
// Hand [Telemetry] the providers that the program has, and put its layer around each attempt of a client:
//
//	telemetry, err := kubeotel.New(&kubeotel.Options{
//		TracerProvider: tracerProvider,
//		MeterProvider:  meterProvider,
//		Propagator:     propagation.TraceContext{},
//	})
//	c, err := kube.NewClient(ctx, &kube.ClientOptions{
//		PerAttempt: []kube.Middleware{kube.Observe(telemetry.Observe)},
//	})
//
// It needs only the API of OpenTelemetry; what is not given is not reported. Nothing is read from global providers.
//
// # Spans
//
// Each HTTP request is a client span, a child of the span in the caller's context: "list pods", "update
// deployments.apps/status". It lasts until the answer was read, and so does that of a watch. A request that is sent again
// has a span for each attempt, with http.request.resend_count. The attributes are those of the semantic conventions for
// HTTP clients, https://opentelemetry.io/docs/specs/semconv/http/http-spans/, and kube.verb, kube.resource,
// kube.subresource, kube.namespace and kube.name. No secret is among them: url.full comes without passwords, the commands
// of an exec and the queries of proxied requests. The error of a span is a kind of error and not its text.
//
// # Metrics
//
// Those of https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ for clients:
//
//	http.client.request.duration    s   until the answer was read; its header, for watches, logs and what is proxied
//	http.client.response.body.size  By  as it was read, after decompression
//	http.client.active_requests         open watches are those with kube.verb=watch
//
// Their attributes are http.request.method, server.address, server.port, http.response.status_code, error.type,
// network.protocol.version, kube.verb, kube.resource and kube.subresource. None grows with the objects in the cluster, and
// what comes from the program or the server is bounded: after [Options].Resources different resources and subresources,
// further ones are "other", as are methods, verbs and codes that nobody knows.
//
// # Concurrency
//
// A Telemetry may be used by many clients at once.
package kubeotel
