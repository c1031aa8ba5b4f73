// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !go1.28

package guest

import _ "unsafe" // for go:linkname

// sig is the variable of package runtime, with its fields in the releases of Go that the build constraint names. Stop
// of os/signal waits until the goroutine that watchSignalLoop starts is ready for signals (state 1). A guest has no
// such goroutine, so the state is always 1. In other releases, Stop does not return.
//
//go:linkname sig runtime.sig
var sig = struct { //nolint:gochecknoglobals // of the runtime
	note              uintptr
	state, delivering uint32
	inuse             bool
}{state: 1}
