// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Ports are below the ephemeral range of all common systems and below Kubernetes' node ports, so that no outgoing
// connection can take the address of a component that is down.
const firstPort, lastPort = 20000, 29999

// reservation reserves ports, so that other clusters on this machine do not use them. The lock is a UDP socket that is
// bound to the same number: no component uses it, and the system releases it when this process ends.
type reservation struct{ locks []net.PacketConn }

// take returns a free TCP port of 127.0.0.1, or the wanted one unless that is zero.
func (r *reservation) take(wanted int) (int, error) {
	if wanted != 0 {
		if err := r.try(wanted); errors.Is(err, syscall.EADDRINUSE) {
			return 0, fmt.Errorf("port %d is in use: choose another one, or stop the program that has it", wanted)
		} else if err != nil {
			return 0, fmt.Errorf("port %d: %w", wanted, err)
		}
		return wanted, nil
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if r.try(port) == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

func (r *reservation) try(port int) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	lock, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	r.locks = append(r.locks, lock)
	return listener.Close()
}

// release releases the ports. A nil reservation has none.
func (r *reservation) release() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, lock := range r.locks {
		errs = append(errs, lock.Close())
	}
	r.locks = nil
	return errors.Join(errs...)
}
