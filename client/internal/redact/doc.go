// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes the credentials that were sent to a server from text that the server returns.
//
// A server, or a proxy in front of it, may repeat headers of the request in its response, for example in an error
// message. Text for errors and logs therefore passes through [Secrets], which contains the credentials that were sent.
package redact
