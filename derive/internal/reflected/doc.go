// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflected describes Go types as JSON Schema documents while a program runs.
//
// It does by reflection what package schema does with sources, and makes the same document, as far as what there is to say
// is in types, struct tags and methods: comments are gone once a program is compiled.
package reflected
