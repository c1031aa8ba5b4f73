// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import "syscall"

// Options of TCP sockets that package syscall does not have, see linux/tcp.h.
const (
	tcpUserTimeout = 18
	tcpRTOMax      = 44 // since Linux 6.15
)

// Linux sends no keepalive probes while data is unacknowledged, but retransmits it 15 times, with delays that double up
// to two minutes. With delays of up to retransmitMax, this takes about 36 seconds.
const (
	retransmitMax     = 2500 // ms
	unacknowledgedMax = 40_000
)

// connectMax is the number of attempts to connect. Their delays are reduced, too, so more attempts than the default, 6,
// are necessary until dialTimeout.
const connectMax = 20

// limitUnacknowledged returns the Control function of a dialer whose connections end if the peer acknowledges no data
// for about 40 seconds. The connection to a peer that only does not read is kept, because it acknowledges probes.
// Before Linux 6.15, TCP_USER_TIMEOUT is the only option with this effect, and it ends that connection, too. So it is
// not set for streams, since a program may leave its input unread for an hour.
func limitUnacknowledged(stream bool) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			set := func(option, value int) error {
				return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, option, value)
			}
			switch {
			case set(tcpRTOMax, retransmitMax) == nil:
				_ = set(syscall.TCP_SYNCNT, connectMax)
			case !stream:
				_ = set(tcpUserTimeout, unacknowledgedMax)
			}
		})
	}
}
