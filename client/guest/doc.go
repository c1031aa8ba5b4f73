// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package guest makes a program a guest of a WebAssembly host: a controller that is a module. The document wasm/ABI.md
// defines the interface. A program gets this package by importing kube, and needs no other change:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o controller.wasm .
//
// With -tags nethttpomithttp2, the module is 0.7 MB smaller.
//
// The package is empty on other platforms. In a guest, [github.com/kube-go/sdk/client] sends requests through the host,
// and [github.com/kube-go/sdk/runtime/cache] reads the host's shared watches. Other programs for wasip1 can't use it,
// since only a host of this interface has the functions that it imports.
//
// # The program
//
// The host calls kube_start, which calls the function main of the program in a goroutine. The arguments and the
// environment are those that the host passes, and the name of the program is that of the module. The program ends with
// exit code 0 when main returns, and the host then starts it again after a delay. The program receives no signals: a
// host that removes a module ends it.
//
// The environment does not exist before kube_start: while the variables and init functions of packages are initialized,
// [os.Getenv] returns nothing. So read it in main or later. The runtime of Go has started before, too. This package
// applies GOMEMLIMIT and GOGC, and os.Setenv the settings of GODEBUG that are not those of the runtime itself, such as
// gctrace. TZ has an effect if the program has not used the local time before; a program needs time/tzdata for it,
// because a guest has no files.
//
// Goroutines, timers, contexts and locks work as in other programs. Each function that the host calls ends with a read
// of file descriptor 100, which the host completes when no other goroutine can run.
//
// Records of the default logger of log/slog, and of package log, are records in the log of the host. So are lines that
// the program writes to its standard output and error.
package guest
