// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package request turns a verb and its options into the request that an API server expects.
//
// Use it to see or test exactly what goes over the wire, or to send requests by means of your own; programs that talk to
// a server use client.API, which builds its requests here. Nothing in this package does IO.
//
//	pods := request.Target{Resource: res, Namespace: "prod"}
//	req, err := request.List(pods, &request.ListOptions{LabelSelector: "app=web", Limit: 500})
//	// GET /api/v1/namespaces/prod/pods?labelSelector=app%3Dweb&limit=500
//
// # Subresources
//
// Get, Create, Update, PatchObject and Apply work on any subresource: name it in the [Target], and its Kind where that is
// not the kind of the object. Those that are no objects, or that have bodies of their own, have functions of their own:
// [Evict], [Bind], [Token], [Log], [Exec], [Attach], [PortForward] and [Proxy]. [Raw] is for paths of no resource.
//
// # Errors
//
// What can't be sent is an [*InvalidError] that names the field: an empty or unusable name, a namespace for a
// cluster-scoped kind, a selector with a typo, options that contradict each other. No option is ever dropped silently.
//
// # Concurrency
//
// Everything here is a plain value; options are read during the call only.
package request
