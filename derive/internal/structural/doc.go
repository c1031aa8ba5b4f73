// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package structural rewrites JSON Schema documents to the structural schemas that an API server accepts.
//
// A document may be made from source or by reflection. It is JSON Schema in the dialect of
// github.com/invopop/jsonschema: definitions and references to them, keywords beside a reference, allOf for what is
// embedded. What JSON Schema has no word for is in the Extras, under the keys of this package.
//
// A structural schema has none of that: references are replaced by what they refer to, and every property is where a
// server looks for it, see
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
package structural
