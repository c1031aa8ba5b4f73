// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Sleeper is a module whose initialisation does not end.
package main

import "time"

var _ = slept()

func slept() bool {
	time.Sleep(1000 * time.Hour)
	return true
}

//go:wasmexport kube_describe
func describe() int64 { return 0 }

func main() {}
