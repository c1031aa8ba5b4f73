// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	_ "os/signal" // is initialized before this package
	_ "unsafe"    // for go:linkname
)

// watchSignalLoop is the variable of package os/signal. Notify starts the function as a goroutine that waits for
// signals. On wasip1, that goroutine never sleeps: it yields to the others again and again, so that the guest would
// never be idle. A guest receives no signals. The linker takes this definition of the variable, because the one of
// os/signal has no initial value.
//
//go:linkname watchSignalLoop os/signal.watchSignalLoop
var watchSignalLoop = noSignals //nolint:gochecknoglobals // of os/signal

func init() { watchSignalLoop = noSignals } //nolint:gochecknoinits // after the init function of os/signal has set it

func noSignals() {}
