// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance tests the host against wasm/ABI.md, the text of the interface kube_v1. It has only tests: each
// case is a claim of the text, and runs with a guest in Go and with one in C, so that the host does not depend on what
// the runtime of one language does.
//
// # Guests
//
// testdata/guest (Go) and testdata/guest.c are programs that do what the suite asks for. An actor with the argument
// "control" reads commands from the response of the request /test/control/MODULE, one per line:
//
//	SEQUENCE COMMAND ARGUMENT…
//
// A reconciler finds its commands in the list spec.do of the reconciled object. Messages are written in hexadecimal, so
// that the suite can send any bytes. The guests report through the import log, with one record per report:
//
//	@MODULE = SEQUENCE RESULT           the result of a command
//	@MODULE + ID FLAGS LENGTH TEXT      an item
//	@MODULE ~ ID FLAGS CHANGE LENGTH OBJECT  a change of an item of a watch
//	@MODULE ! TEXT                      a violation of the interface that the guest has noticed: the case fails
//	@NAMESPACE/NAME r CONTROLLER STATE OWNED  a run of a reconciler
//
// The guest in C needs the packages that make wasm-guests installs. Without them its cases are skipped.
package conformance
