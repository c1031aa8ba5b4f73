// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// Fence returns a middleware that refuses writes while this replica is not a member, with an error that wraps
// [election.ErrNotLeader]. Exec, attach and port-forward count as writes. Use it in the PerAttempt of the client of the
// work, also if that work ignores the end of its context; the member needs another client. It does not know which
// object a write belongs to: work on an object that moves to another replica has ended before. See
// [election.Elector.Fence] for an example.
func (m *Member) Fence() middleware.Func {
	return terms.Fence(m.joined, fmt.Errorf("shards %s/%s: %w", m.options.Namespace, m.options.Name, election.ErrNotLeader))
}

// joined reports whether this replica is a member.
func (m *Member) joined() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.elector != nil && m.elector.Status().Leading
}
