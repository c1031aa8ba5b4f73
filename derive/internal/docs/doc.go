// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs writes reference documentation of kinds, as Markdown or as HTML.
//
// There is a page for each version of a group: its kinds in the order of the sources, then the types that they are made
// of, each right behind the first that uses it. All that a server checks is said in words. Types of other modules are
// linked to where they are documented.
package docs
