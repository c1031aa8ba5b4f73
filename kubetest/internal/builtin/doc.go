// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package builtin describes the built-in kinds of Kubernetes, as recorded from a real API server: their discovery
// documents, the OpenAPI schemas of their objects, and when the server increments their metadata.generation.
//
// The recording is embedded and is decoded when it is first used. Run the command internal/cmd/record to replace it.
//
// # Concurrency
//
// All functions are safe for concurrent use.
package builtin
