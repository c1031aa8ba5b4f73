// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator runs the modules of WasmController objects in a host.
//
//	h, err := host.New(ctx, c, nil)
//	…
//	o, err := operator.New(c, h, &operator.Options{Store: store})
//	…
//	m := manager.New(c, &manager.Options{LeaderElection: "wasm"})
//	m.AddToAll(h)
//	m.Add(o)
//	err = m.Run(ctx)
//
// # The machine
//
// The reconcile is a durable state machine of package fsm. Pulling reads the module, Compiling passes it to the host,
// and Starting waits for its program. Running, BackOff and Quarantined follow the status of the host, which is compared
// each second. Reading and compiling happen in goroutines of [Operator.Run], a few at the same time, so that no object
// waits for the module of another one.
//
// A change of the spec, or of the file, replaces the module: the previous one runs until the next one is compiled. A
// module that can't be compiled, or that fails repeatedly, is quarantined until the object or the file changes, or the
// program starts again.
//
// # Replicas
//
// Replicas of the program need a leader, as above. Objects can't be divided with sharding: the manager then returns an
// error.
//
// # Identity
//
// Each module has the service account of its object, in the namespace of the object; the default is the account
// default. It never has the identity of the host: otherwise everybody who may create a WasmController would have its
// permissions.
//
// # Permissions
//
// The program needs the verbs get, list, watch and patch for wasmcontrollers, patch for wasmcontrollers/status, create
// for serviceaccounts/token, and create and patch for events of the group events.k8s.io. It also needs list and watch
// for the kinds that modules watch, because the host has the watches. [Install] needs get, list, watch, create and
// patch for customresourcedefinitions.
//
// Users who may create a WasmController in a namespace can use each service account of the namespace, as with pods.
package operator
