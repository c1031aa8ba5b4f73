// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package sample makes objects that a schema accepts, and objects that break one of its rules.
//
// What a schema says of a value is followed as it is read: examples, defaults, enums, formats, patterns, bounds. What only
// the whole object can show, such as unions and rules in CEL, is reached by changing one value after the other for as long
// as less is wrong. The same schema always gives the same objects.
package sample
