// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"log/slog"

	"github.com/kube-go/sdk/core"
)

// Status is the state of a [Member].
type Status struct {
	// Name is the name of the group.
	Name string

	// Joined is true while this replica is a member of the group.
	Joined bool

	// Shard is the part of the objects that this replica owns. If it owns nothing, the shard is empty: its method Has
	// returns false for all objects, but its String is "", which selects all objects as a selector.
	Shard *core.Shard

	// Slots is the number of parts of 256 that this replica owns, and Leaving the number of those that it gives to others
	// when its work in them has ended.
	Slots, Leaving int

	// Members are the members of the group as this replica has read them last.
	Members []MemberStatus

	// Reached is true once the server has returned the leases of the group to this replica.
	Reached bool

	// Err is why the last request of a kind has failed: the last read of the leases, the last change of the table, the
	// last removal of another lease, or else the last request of the elector; or nil if all have succeeded.
	Err error
}

// MemberStatus is a member of a group.
type MemberStatus struct {
	Identity string // see [Options.Identity]
	Ranges   string // the ranges of the slots that it owns, such as "0-63,128"
}

// Status returns the current state.
func (m *Member) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{Name: m.options.Name, Reached: m.reached, Err: m.errs.first()}
	if m.elector != nil {
		e := m.elector.Status()
		s.Joined = e.Leading
		if s.Err == nil {
			s.Err = e.Err
		}
	}
	own := slots{}
	if s.Joined {
		own = m.state.granted
		s.Leaving = m.state.table.of(m.state.self.uid).len() - own.len()
	}
	s.Slots, s.Shard = own.len(), own.shard(m.options.ByNamespace)
	for _, one := range m.state.table.members {
		s.Members = append(s.Members, MemberStatus{one.identity, m.state.table.of(one.uid).String()})
	}
	return s
}

// warnings is a handler that drops other records: the lease of a member is a detail.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
