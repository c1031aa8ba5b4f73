// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery tells which kinds a server has, and finds one by the names people use.
//
// Use it where a kind is known only at run time; a program that knows its kinds needs no discovery.
//
//	d, err := discovery.Discover(ctx, c, nil)
//	res, err := d.Resolve("deploy")               // name, singular, short name or kind
//	objs := client.Dynamic(c, res, "prod")
//
// It asks twice, for the core group and for all others, in the aggregated form that servers have since Kubernetes 1.27:
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery.
//
// # Errors
//
// A name that fits nothing is an [*UnknownResourceError], with the names that come near.
//
// # Concurrency
//
// A [Discovery] is immutable. It is what the server had at the time; discover again to see what was added since.
package discovery
