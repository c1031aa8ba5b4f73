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
// Reads always ask the server; to read a cache, see runtime/reflector.
//
// # Errors
//
// Every verb wraps exactly once, in an [*OpError] that says what was asked: "get pods prod/web-0: not found". What the
// server said is a [*core.StatusError] in it, matched by errors.Is(err, core.ErrNotFound) and its like. A request that
// was never sent, because it could not be right, is a [*request.InvalidError]. A server that could not be reached is a
// [*ConnectError], which says what to look at; an answer whose rest did not arrive matches io.ErrUnexpectedEOF.
//
// # Retries and timeouts
//
// A verb sends one request and waits as long as its context lets it. A body refused because of its encoding is sent once
// more as JSON; nothing else is repeated, and redirects are not followed. A silent connection is given up within 45
// seconds.
//
// # Credentials
//
// Certificates and tokens that come from files may be replaced while they are in use. New requests take the new ones; a
// watch that is under way goes on with those it began with. Over plain http, which serves for kubectl proxy and its like,
// no credentials are sent: a Config that has some is refused.
//
// # Concurrency
//
// Client, API and Feed are immutable and safe for concurrent use. Sequences run in the goroutine that ranges over them.
package client
