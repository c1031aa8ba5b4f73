// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench runs the same work through the SDK, client-go and controller-runtime, and compares the results with the
// bars that the SDK sets itself. It prints a table with the measured values, the ratio and the bar of each figure:
//
//	make bench
//	make bench ARGS='-run "heap|CPU" -n 5000 -repeat 3'
//
// # Method
//
// Each measurement of a case, called a trial, runs in a new process of the same program, so that heaps and caches are
// separate. All trials receive the same generated pods (see internal/objects) from a server in the parent process (see
// internal/replay), over HTTP/1.1 without TLS and compression. So the costs of TLS, which are equal for all libraries,
// are not in the figures. The trials run in turn, -repeat times, and in reverse order every other time. The table has
// the median and the best value of each case: a large difference between them shows that other programs have used the
// machine. The ratio is the median of the ratios of the rounds. Short operations also have figures of their CPU time,
// with that of all goroutines and of the garbage collector, which other programs disturb less than the time.
//
// Heap sizes are the bytes and objects that are reachable after a garbage collection, minus those before the cache
// started. CPU times are those of the child process until its cache is synced, with the garbage collections that happen
// in the meantime. The peak of the heap is that of the bytes that collections have found reachable, while the program
// collects continuously and the server sends slowly, about 10,000 objects a second. Objects that are allocated during a
// collection count as reachable, so the peak is a little too high, for all cases.
//
// The latency of an event is the time from the arrival of its first bytes in the process until its reconcile has the
// object. The SDK reads it from the cache before it calls the reconcile, and the peers in the reconcile. The time from
// the change of the object in the server is shown, too; most of it is spent in the server and the network.
//
// A pass of a state machine is compared with a plain reconcile that declares the same object and has the same
// conditions. Both run in one process, in turn, and the mean of the rounds of each counts.
//
// # Adding a figure
//
// A figure is an entry of a list in a file such as heap.go: its name, its bar, and the trials of the SDK and of the
// peers. A trial is a function that runs the work and returns its values by name.
package main
