// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package value processes objects by their schema as an API server does: it drops unknown fields, sets defaults, and
// returns validation errors with the messages of the server.
//
// Objects are trees of map[string]any, []any, string, int64, float64, bool and nil, like the content of
// unstructured.Unstructured. Package cel evaluates validation rules.
package value
