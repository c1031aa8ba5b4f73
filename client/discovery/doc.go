// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery asks a server what it is and which kinds it has, and finds a kind by the names people use.
//
// Use it where a kind is known only at run time; a program that knows its kinds needs no discovery.
//
//	d, err := discovery.Discover(ctx, c, nil)
//	res, err := d.Resolve("deploy")               // name, singular, short name or kind
//	all, err := d.ResolveCategory("all")          // several
//	objs := client.Dynamic(c, res, "prod")
//
// A program that runs for long, while kinds are installed, has a [Mapper], which discovers again when it misses one:
//
//	mapper := discovery.NewMapper(c, nil)
//	objs, err := mapper.Dynamic(ctx, obj)         // the API of an object's kind, in its namespace
//
// # Requests
//
// It asks twice, for the core group and for all others, in the aggregated form that servers have since Kubernetes 1.27:
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery. Older servers are asked for each
// group version, several at a time. With a [Cache], in memory or on disk, a server that has nothing new says only that.
//
// # Errors
//
// A group version that can't be discovered, such as one whose server is down, is no error of the others, which do not
// wait for it longer than [Options].GroupTimeout: it is in [Discovery.Failed], and in the errors about what it may have.
// A name that fits nothing is an [*UnknownResourceError], with the names that come near.
//
// # Concurrency
//
// A [Discovery] is immutable: it is what the server had at the time. [Mapper], [Cache] and [OpenAPI] are safe for
// concurrent use.
package discovery
