// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package histogram counts durations by their length, such as those of the runs of a controller. The packages that
// count have a [Counter], and report a [Histogram].
package histogram
