// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package request turns a verb and its options into the request that an API server expects.
//
// Use it to inspect or test a request, or to send requests with an HTTP client of your own. Programs that talk to a
// server use client.API, which builds its requests here. Nothing in this package does IO.
//
//	pods := request.Target{Resource: res, Namespace: "prod"}
//	req, err := request.List(pods, &request.ListOptions{LabelSelector: "app=web", Limit: 500})
//	// GET /api/v1/namespaces/prod/pods?labelSelector=app%3Dweb&limit=500
//
// # Subresources
//
// Get, Create, Update, PatchObject and Apply work on any subresource: name it in the [Target], and its Kind if that is
// not the kind of the object. Other subresources have functions of their own: [Evict], [Bind], [Token], [Log], [Exec],
// [Attach], [PortForward] and [Proxy]. [Raw] is for paths that are not resources.
//
// # Errors
//
// A request that can't be sent is an [*InvalidError] that names the field: an empty or invalid name, a namespace for a
// cluster-scoped kind, an invalid selector, contradictory options. No option is ignored silently.
//
// # Concurrency
//
// Everything here is a plain value; options are read during the call only.
package request
