// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// prepared is a controller that reports when its Run would begin to work, as a [controller.Runner] does.
type prepared interface { //nolint:interfacebloat // a controller has all of them
	Runnable
	standby
	Ready(ctx context.Context) error
	SyncTimeout() time.Duration
	Health() []controller.SourceHealth
}

const (
	// waitNoticed is the time after which the log says for what the first term of a replica waits.
	waitNoticed = 5 * time.Second
	// waitRepeated is the time after which the log says it again.
	waitRepeated = 5 * time.Minute
)

// waiting is the controllers for which the first term of a replica waits.
type waiting struct {
	mu   sync.Mutex // guards left
	left []*prepared
}

// add adds a controller, and returns a function that removes it.
func (w *waiting) add(p prepared) (remove func()) {
	one := &p
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(w.left, one)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.left = slices.DeleteFunc(w.left, func(o *prepared) bool { return o == one })
	}
}

// names returns the names of the controllers, and why the first of them can't begin.
func (w *waiting) names() (names []string, err error) {
	w.mu.Lock()
	left := slices.Clone(w.left)
	w.mu.Unlock()
	for _, p := range left {
		names = append(names, name(*p))
		if err == nil {
			err = sourcesSynced((*p).Health())
		}
	}
	return names, err
}

// prepare waits until the controllers can begin, so that this replica does not take work from another one before. When
// one of them can begin, it waits for the others for at most their longest SyncTimeout. One that fails counts as one
// that can begin, since its Run returns the error. If ctx ends, prepare returns its cause.
func (m *Manager) prepare(ctx context.Context) error {
	var waits []func(context.Context) error
	var limit time.Duration
	for _, r := range m.led {
		p, ok := r.(prepared)
		if !ok {
			continue
		}
		remove := m.waiting.add(p)
		limit = max(limit, p.SyncTimeout())
		waits = append(waits, func(ctx context.Context) error {
			if err := p.Ready(ctx); err == nil || ctx.Err() == nil {
				remove()
			}
			return nil
		})
	}
	reported, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { m.reportWaiting(reported) })
	_ = terms.Await(ctx, limit, waits...) // the functions return no error
	stop()
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if names, err := m.waiting.names(); len(names) > 0 {
		m.options.Logger.Warn("some controllers can't begin: the others begin without them", "controllers", names, "err", err)
	}
	return nil
}

// reportWaiting logs for what the first term waits, until ctx ends.
func (m *Manager) reportWaiting(ctx context.Context) {
	for after := waitNoticed; ; after = waitRepeated {
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		names, err := m.waiting.names()
		m.options.Logger.Info("this replica takes no work yet, since its controllers can't begin", "controllers", names,
			"err", err)
	}
}
