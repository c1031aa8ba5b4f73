// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay serves generated objects as an API server does, with little CPU time: the bytes of all objects are
// encoded once, and copied into the responses.
//
// A [Server] supports what caches request: lists, pages of lists, watches, and watches that begin with the existing
// objects (sendInitialEvents), each as JSON or protobuf, and with whole objects or only their metadata. It rejects
// selectors, writes and single objects. Responses are not compressed.
//
// A [Collection] holds the encoded objects of one resource. Many servers can share it, one after the other or at the
// same time, since each keeps its own changes.
package replay
