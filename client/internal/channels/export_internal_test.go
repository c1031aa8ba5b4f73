// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

// Done returns a channel that is closed when the connection has ended, for any reason.
func (c *Conn) Done() <-chan struct{} { return c.done }
