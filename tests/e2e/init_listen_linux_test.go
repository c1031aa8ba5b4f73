// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// listenOn listens on an address for connections from one network device, so that the address is free on other devices.
func listenOn(ctx context.Context, device, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var bound error
		err := c.Control(func(fd uintptr) {
			bound = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, device)
		})
		return errors.Join(err, bound)
	}}
	return config.Listen(ctx, "tcp", address)
}
