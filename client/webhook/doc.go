// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook implements HTTP handlers for the webhooks of an API server: admission and conversion.
//
// The handlers work with any HTTP server. An API server calls them only over TLS, and trusts the certificate authority
// that the webhook's configuration names.
//
//	mux := http.NewServeMux()
//	mux.Handle("/convert", webhook.Conversion(converter.Convert, nil))
//	mux.Handle("/validate", webhook.Admission(validate, nil))
//	server := &http.Server{Addr: ":9443", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
//	err := server.ListenAndServeTLS("tls.crt", "tls.key")
//
// [github.com/kube-go/sdk/core/admission] and [github.com/kube-go/sdk/core/conversion] define reviews and responses. A
// program that converts must serve conversions before it reads objects of its kind: the API server may call it for that
// read.
//
// # Errors
//
// An invalid review gets a response with status 400, 405, 413 or 415. If a callback panics, the response has status 500
// and the stack is logged; other requests are not affected.
//
// # Concurrency
//
// Handlers call their callbacks concurrently.
package webhook
