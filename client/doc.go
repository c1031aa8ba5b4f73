// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package client speaks HTTP to a Kubernetes API server.
//
// A [Client] is a client of one server with one identity. An [API] is one kind of object on that server, with a method
// for each verb; a [Feed] is the same kind as a stream of packed objects, for caches.
//
//	c, err := client.New(ctx, nil)                        // kubeconfig, or in-cluster
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
// Every verb wraps its error once, in an [*OpError] that names the operation: "get pods prod/web-0: not found". It
// contains
//
//   - a [*core.StatusError] for a response that is not a success, matched by errors.Is(err, core.ErrNotFound) and so
//     on;
//   - a [*request.InvalidError] for a request that is invalid and was not sent;
//   - a [*ConnectError] with a remedy, if the server cannot be reached;
//   - a [*middleware.RetryError] around one of these if the request was sent more than once.
//
// The error of a truncated response matches io.ErrUnexpectedEOF.
//
// # Retries and timeouts
//
// A verb waits until its context ends, but at most two minutes for the header of a response, see
// Options.ResponseHeaderTimeout. This limit does not apply to watches, logs and streams. An HTTP/2 connection that
// receives nothing is closed after 30 seconds: it is pinged after 20 seconds, and the server must respond within 10. An
// HTTP/1.1 connection, which streams use, is closed within 45 seconds; before Linux 6.15, that of a stream with an
// input or a forwarded port may last 15 minutes.
//
// A failed request is retried for up to 30 seconds if that is safe and may succeed: if the server is too busy, if a
// server that responded before cannot be reached, and, for requests whose repetition has no further effect, if the
// connection breaks, even within the first 8 MiB of the response. After a broken connection, or without a response for
// two minutes, it is retried once even later. Options.Retry configures this, see
// [middleware.Retry]; [middleware.WithAttempts] disables it for one call. A [Feed] has no retries, because its callers
// have their own. A body that the server rejects because of its encoding is sent again as JSON. Redirects are not
// followed.
//
// # Connections
//
// All requests of a client use one HTTP/2 connection if the server supports it; streams such as exec use their own
// connections. Clients that differ in impersonation, token or options can share connections, see Options.Share. Proxies
// may be http, https or socks5. An https proxy receives neither the server name nor the client certificate for the
// server, and its certificate may be signed by an authority of the system or of the Config.
//
// # Credentials
//
// Files with certificates and tokens may be replaced at any time. New requests use the new ones; a running watch keeps
// those that it started with. Credentials are not sent over plain http, which is meant for kubectl proxy and the like:
// a Config with credentials is rejected.
//
// # Concurrency
//
// Client, API, Subresource and Feed are immutable and safe for concurrent use. Sequences run in the goroutine that
// ranges over them. An [Entry] belongs to one goroutine. An [Upgraded] is for one reader and one writer at a time.
package client
