// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs writes reference documentation of kinds, as Markdown or as HTML.
//
// A page documents one version of a group: its kinds in the order of the sources, then their types, each after the
// first one that uses it. The validation of servers is described in words. Types of other modules are links to their
// documentation.
package docs
