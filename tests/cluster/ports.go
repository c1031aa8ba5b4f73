// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports come from below the ephemeral range of all common systems and below Kubernetes' own node ports, so that while a
// component is down no outgoing connection can take its address.
const firstPort, lastPort = 20000, 29999

// reservation holds ports against other clusters on this machine. A UDP socket bound to the same number is the lock: no
// component wants it, and the system releases it however this process ends.
type reservation struct{ locks []net.PacketConn }

// take returns a free TCP port of 127.0.0.1, or the wanted one if that is not zero.
func (r *reservation) take(wanted int) (int, error) {
	if wanted != 0 {
		if err := r.try(wanted); err != nil {
			return 0, fmt.Errorf("port %d is taken: %w", wanted, err)
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

// release lets others have the ports. A nil reservation holds none.
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
