// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package structural rewrites JSON Schema documents to the structural schemas that an API server accepts.
//
// A document can be generated from source code or by reflection. It is JSON Schema in the dialect of
// github.com/invopop/jsonschema: definitions and references, keywords next to a reference, and allOf for embedded
// structs. Extras contains keywords that are not part of JSON Schema, with the keys of this package.
//
// In the structural schema, references are replaced by their definitions, and embedded properties are inlined, see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
package structural
