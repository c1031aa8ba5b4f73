// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package sample generates valid objects of a schema, and objects that violate one of its rules.
//
// It first generates each value from the keywords of its schema: examples, defaults, enums, formats, patterns, bounds.
// For rules that apply to the whole object, such as unions and CEL rules, it then changes one value at a time as long
// as the number of errors decreases. The result for a schema is always the same.
package sample
