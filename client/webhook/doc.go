// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook serves what an API server asks a program: to admit objects, and to convert them.
//
// The handlers go into any HTTP server. An API server calls them by TLS alone, and trusts the certificate authority that
// the webhook's configuration names.
//
//	mux := http.NewServeMux()
//	mux.Handle("/convert", webhook.Conversion(converter.Convert, nil))
//	mux.Handle("/validate", webhook.Admission(validate, nil))
//	server := &http.Server{Addr: ":9443", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
//	err := server.ListenAndServeTLS("tls.crt", "tls.key")
//
// What a review says, and what an answer may say, is in [github.com/kube-go/sdk/core/admission] and
// [github.com/kube-go/sdk/core/conversion]. A program that converts has to answer before it reads objects of its kind: the
// server may have to ask it for them.
//
// # Errors
//
// What is no review is answered with the status 400, 405, 413 or 415. A function that panics is answered with 500, and its
// stack goes to the logger; other requests are served on.
//
// # Concurrency
//
// Handlers call their functions from many goroutines at once.
package webhook
