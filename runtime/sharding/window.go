// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/watcher"
)

// ShardSource returns the shards of this replica for one watch, see [watcher.Window.Set]. The result also has the
// methods Begin and Follow of the member, for work that reads the watched objects: it owns an object when the replica
// owns it, and a list that began after that is complete.
func (m *Member) ShardSource() watcher.ShardSource { return &window{member: m} }

type window struct {
	member *Member
	lists  lists // guarded by member.mu
}

// List implements [watcher.ShardSource].
func (w *window) List() (*core.Shard, context.Context) {
	m := w.member
	m.mu.Lock()
	defer m.mu.Unlock()
	return w.lists.begin(&m.wanted).shard(m.options.ByNamespace), m.valid
}

// Listed implements [watcher.ShardSource].
func (w *window) Listed() {
	m := w.member
	m.mu.Lock()
	defer m.mu.Unlock()
	w.lists.end()
	m.wakeUp() // to notify the followers
}

// Begin is [Member.Begin] for work that reads the objects of the window.
func (w *window) Begin(uid types.UID, namespace string) (end func(), ok bool) {
	return w.member.begin(w, uid, namespace)
}

// Follow is [Member.Follow] for work that reads the objects of the window.
func (w *window) Follow(f func(*core.Shard)) (stop func()) { return w.member.followOn(w, f) }

// open returns the slots in which work that reads a window may begin. The window may be nil. The caller holds m.mu.
func (m *Member) open(w *window) (s slots) {
	if w == nil {
		return m.state.granted
	}
	for i := range slotCount {
		if m.state.granted.has(i) && w.lists.has(&m.wanted, i) {
			s.add(i)
		}
	}
	return s
}

// want changes the slots that the windows select. If some are gained, their watches end now. Otherwise they end later,
// so that slots that leave one after the other do not cause a list each. The caller holds m.mu.
func (m *Member) want(next slots) {
	switch gained, lost := m.wanted.set(next); {
	case gained:
		m.relist()
	case lost && m.shrink == nil:
		m.shrink = time.AfterFunc(2*m.options.RetryPeriod, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.relist()
		})
	}
}

// relist makes the watches of all windows list again. The caller holds m.mu.
func (m *Member) relist() {
	if m.shrink != nil {
		m.shrink.Stop()
		m.shrink = nil
	}
	m.invalidate()
	m.valid, m.invalidate = context.WithCancel(context.Background())
}
