// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package histogram has the distribution of durations by their length, such as those of the runs of a controller.
package histogram
