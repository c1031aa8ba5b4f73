// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package explore decides which faults a program is tested with, and compares the objects that it leaves with those of
// a run without faults.
//
// The faults and the comparisons are those of Sieve, "Automatic Reliability Testing for Cluster Management
// Controllers", OSDI 2022: crashes between the writes of a controller, stale and unobserved states, and the end states
// and numbers of creations and deletions.
package explore
