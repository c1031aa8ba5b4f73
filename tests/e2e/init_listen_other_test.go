// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e_test

import (
	"context"
	"errors"
	"net"
)

// listenOn is for nodes, which there are on Linux only.
func listenOn(context.Context, string, string) (net.Listener, error) {
	return nil, errors.ErrUnsupported
}
