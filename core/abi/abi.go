// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package abi

import "strconv"

// Module is the name of the module that guests import the functions of the host from.
const Module = "kube_v1"

// The functions that a host provides in [Module]. Their parameters and results are i32 and i64.
const (
	Submit = "submit" // (op i32, ptr i32, len i32, deadline i64) → i64: starts an operation, returns its id or a Code
	Cancel = "cancel" // (id i64): ends an operation
	Call   = "call"   // (op i32, ptr i32, len i32, out i32, cap i32) → i64: returns the length of the result, or a Code
	Fetch  = "fetch"  // (out i32, cap i32) → i64: copies a result that did not fit into the buffer of Call
	Log    = "log"    // (level i32, ptr i32, len i32): writes a record to the log of the host
)

// The functions that guests export. Each guest also exports _initialize and its memory.
const (
	Alloc     = "kube_alloc"     // (size i32) → i32: returns memory for a message of the host, or 0
	Describe  = "kube_describe"  // () → i64: returns a [Description] as pointer<<32 | length
	Start     = "kube_start"     // (ptr i32, len i32) → i32: receives a [Startup]; returns 0 or a Code; actors only
	Wake      = "kube_wake"      // (id i64, ptr i32, len i32, flags i32) → i32: receives an item; actors only
	Tick      = "kube_tick"      // (): runs the timers that are due; actors only
	Quiesce   = "kube_quiesce"   // (reason i32) → i32: returns 0 if the instance may be unloaded; actors only, optional
	Reconcile = "kube_reconcile" // (ptr i32, len i32) → i64: a [ReconcileRequest] to a [ReconcileResponse]; reconcilers only
)

// StallFD is the file descriptor on which an actor with a scheduler of its own waits at the end of each export. The
// host's poll_oneoff reports it as readable when nothing else in the guest can run.
const StallFD = 100

// Operation is a kind of work that a guest requests from its host.
type Operation int32

// The operations. Those up to OpDelay can be submitted; all but OpWatch and OpDelay can be called.
const (
	OpRequest Operation = 1 // [Request] to the API server, as the module's identity
	OpHTTP    Operation = 2 // [Request] to another server that the module's configuration allows
	OpWatch   Operation = 3 // [Watch]: a shared watch
	OpDelay   Operation = 4 // [Delay]: ends with an empty item
	OpGet     Operation = 5 // [Get]: an object of a watch
	OpList    Operation = 6 // [List]: a page of the objects of a watch
)

// Flags describe an item of an operation.
type Flags int32

// The flags. They can be combined.
const (
	FlagLast      Flags = 1 // no further items of this id follow
	FlagError     Flags = 2 // the item is an [Error]; always with FlagLast
	FlagSyncBegin Flags = 4 // a watch begins to send all objects; those that it does not send do not exist
	FlagSynced    Flags = 8 // a watch has sent all objects
)

// Code says why the host or the guest refuses something. As a result it is negative, so that it differs from ids and
// lengths.
type Code int32

// The codes.
const (
	UnknownOperation Code = -1  // the host does not know the operation, or it can't be submitted or called
	Invalid          Code = -2  // the message is not valid
	TooLarge         Code = -3  // a message or a result exceeds its limit
	OverLimit        Code = -4  // the module has too many operations in flight, or no memory of the host for this one
	Forbidden        Code = -5  // the configuration of the module, or its service account, does not allow it
	NotFound         Code = -6  // the watch, object or result does not exist
	DeadlineExceeded Code = -7  // the deadline of the operation has passed
	Unavailable      Code = -8  // the server can't be reached
	BadPointer       Code = -9  // a pointer and its length are not within the memory of the guest
	NotReady         Code = -10 // the watch has not sent all objects yet, or the instance has not been started
	Internal         Code = -11 // a failure of the host or the guest that has no other code
)

// codeTexts are the texts of the codes, by their negative.
//
//nolint:gochecknoglobals // a constant table
var codeTexts = [...]string{
	"no error", "unknown operation", "invalid message", "too large", "over the limit", "forbidden", "not found",
	"deadline exceeded", "server unavailable", "pointer outside of the memory", "not ready", "internal error",
}

// String returns a description of the code.
func (c Code) String() string {
	if i := -int(c); i >= 0 && i < len(codeTexts) {
		return codeTexts[i]
	}
	return "Code(" + strconv.Itoa(int(c)) + ")"
}

// Error returns a description of the code. A Code is an error, so that it can be found with errors.As.
func (c Code) Error() string { return c.String() }

// The limits of a host, unless its configuration has others.
const (
	MaxMessage = 4 << 20  // bytes of a message or of an item
	MaxHead    = 64 << 10 // bytes of the head of a request
	MaxChunk   = 64 << 10 // bytes of an item of a response's body
	MaxDepth   = 64       // unread items of one id, after which the host sends no more until some are read
)

// Reasons of [Quiesce].
const (
	ReasonUnload int32 = 1 // the instance is idle and its memory will be stored
	ReasonStop   int32 = 2 // the module is removed or replaced
)
