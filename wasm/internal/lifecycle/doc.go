// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of WasmController objects. Package operator runs it as a controller.
//
// [Modules] passes the modules of the objects to a host. The steps of the machine (machine.go) only start slow work, or
// get its result: jobs (jobs.go) read and compile the modules.
package lifecycle
