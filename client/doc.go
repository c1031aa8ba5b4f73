// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package client speaks HTTP to a Kubernetes API server.
//
// A [Client] is one server with one identity. An [API] is one kind of object on it, with a method for each verb; a
// [Feed] is the same kind as a stream of packed objects, which is what caches are fed with.
//
//	c, err := client.New(ctx, nil)                        // kubeconfig, else in-cluster
//	pods := client.Namespaced[corev1.Pod](c, "prod")      // *client.API[corev1.Pod]
//	pod, err := pods.Get(ctx, "web-0", nil)
//
// An API has the verbs that every kind has. Those of single kinds have packages of their own: client/pod, client/node,
// client/service, client/serviceaccount, client/csr and client/rollout.
//
// Reads always ask the server; to read a cache, see runtime/reflector.
//
// # Errors
//
// Every verb wraps exactly once, in an [*OpError] that says what was asked: "get pods prod/web-0: not found". What the
// server said is a [*core.StatusError] in it, matched by errors.Is(err, core.ErrNotFound) and its like. A request that
// was never sent, because it could not be right, is a [*request.InvalidError]. One that was sent several times has a
// [*middleware.RetryError] around that, which says how often. A server that could not be reached is a [*ConnectError],
// which says what to look at; an answer whose rest did not arrive matches io.ErrUnexpectedEOF.
//
// # Retries and timeouts
//
// A verb waits as long as its context lets it, but not more than two minutes for an answer to begin, see
// Options.AnswerTimeout; watches, logs and streams wait as long as they are let. A request that has failed is sent
// again, for up to 30 seconds, when that may help and can do no harm: when the server is too busy and says so; when a
// server that was there before is not; and, for reads, updates, applies and other requests that do no more when they
// are sent twice, when the connection broke, be it within the first 8 MiB of the answer. See [middleware.Retry], and
// Options.Retry to change it; [middleware.WithAttempts] sends a request once. A [Feed] does not send again, since who
// reads it comes back by himself. A body refused because of its encoding is sent once more as JSON. Redirects are not
// followed. A silent connection is given up within 45 seconds.
//
// # Connections
//
// All requests of a client go over one HTTP/2 connection where the server has it; streams such as exec take connections
// of their own. Clients that differ in whom they act as, in their token or in their options can share connections, see
// Options.Share. Proxies may be http, https or socks5. To a https proxy the name and the client certificate that are
// meant for the server are not shown; its certificate may be signed by an authority of the system or of the Config.
//
// # Credentials
//
// Certificates and tokens that come from files may be replaced while they are in use. New requests take the new ones; a
// watch that is under way goes on with those it began with. Over plain http, which serves for kubectl proxy and its
// like, no credentials are sent: a Config that has some is refused.
//
// # Concurrency
//
// Client, API and Feed are immutable and safe for concurrent use. Sequences run in the goroutine that ranges over them.
package client
