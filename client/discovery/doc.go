// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery asks a server for its version, its health and its kinds, and finds a kind by its common names.
//
// Use it if a kind is known only at run time. A program that knows its kinds at compile time needs no discovery.
//
//	d, err := discovery.Discover(ctx, c, nil)
//	res, err := d.Resolve("deploy")               // name, singular, short name or kind
//	all, err := d.ResolveCategory("all")          // several
//	objs := client.Dynamic(c, res).In("prod")
//
// A long-running program uses a [Mapper], which discovers again when it does not find a kind, and every five minutes
// while it is used, so that kinds can be installed and changed while it runs:
//
//	mapper := discovery.NewMapper(c, nil)
//	objs, err := mapper.Dynamic(ctx, obj)         // the API of an object's kind, in its namespace
//
// # Requests
//
// Discover sends two requests, one for the core group and one for all others, in the aggregated format that servers
// support since Kubernetes 1.27: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery. For
// older servers it sends a request for each group version, several at a time. With a [Cache], in memory or on disk, a
// server does not send unchanged documents again. This applies to aggregated discovery and to OpenAPI: older servers
// send each discovery document again, because theirs have no ETag.
//
// # Errors
//
// A group version that cannot be discovered, for example because its server is unavailable, does not affect the others.
// On servers without aggregated discovery, they wait for it for at most two seconds. It is reported by
// [Discovery.Failed], and by the errors for names that it may contain. A name that matches no resource is an
// [*UnknownResourceError], which suggests similar names.
//
// # Concurrency
//
// A [Discovery] is immutable: it contains the resources that the server had at the time. [Mapper], [Cache] and
// [OpenAPI] are safe for concurrent use.
package discovery
