// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes the credentials that were sent to a server from the text that the server returns.
//
// A server, or a proxy before it, may write the request's own headers into its response, such as into the message of an
// error. Text of errors and logs therefore passes through [Secrets], which knows what was sent.
package redact
