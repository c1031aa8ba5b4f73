// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package value does to objects what a server does to them by their schema: it drops what is unknown, sets defaults, and
// says what does not fit, in the server's words.
//
// Objects are trees of map[string]any, []any, string, int64, float64, bool and nil, as JSON is decoded by
// unstructured.Unstructured. Rules in CEL are in package cel.
package value
