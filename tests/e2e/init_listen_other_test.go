// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e_test

import (
	"context"
	"errors"
	"net"
)

// listenOn is not supported, because nodes run only on Linux.
func listenOn(context.Context, string, string) (net.Listener, error) {
	return nil, errors.ErrUnsupported
}
