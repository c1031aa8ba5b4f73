// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"time"

	"github.com/kube-go/sdk/kube"
)

// beat shows that the node is alive. As a kubelet does, it renews the lease each time, and reports the status less
// frequently. The control plane sets the condition Ready of a node whose lease has expired to Unknown, and only a
// report sets it back: so the first renewal after a gap is followed by a report.
type beat struct {
	renew, report func() error

	renewed, reported time.Time // the last success of each
	due               bool      // there was a gap, and no report since then
}

// newBeat returns the beat of a node that has just renewed its lease and reported its status.
func newBeat(renew, report func() error) *beat {
	return &beat{renew: renew, report: report, renewed: clock(), reported: clock()}
}

// clock returns the time by the wall clock: the monotonic one stands still while the machine is suspended.
func clock() time.Time { return time.Now().Round(0) }

// next renews the lease, and reports the status if it is due.
func (b *beat) next() error {
	failed := b.renew()
	now := clock()
	if failed != nil {
		b.due = true
	} else {
		b.due = b.due || now.Sub(b.renewed) > leaseTime
		b.renewed = now
	}
	if now.Sub(b.reported) < beatTime && (failed != nil || !b.due) {
		return failed
	}
	if err := b.report(); err != nil {
		b.due = true
		return errors.Join(failed, err)
	}
	b.reported, b.due = now, failed != nil
	return failed
}

// every calls f until ctx ends. A failure is repeated at the next time.
func every(ctx context.Context, d time.Duration, f func() error) error {
	for tick := time.NewTicker(d); ; {
		select {
		case <-tick.C:
			if err := f(); err != nil && ctx.Err() == nil {
				kube.Logger(ctx).Warn("the node can't report", "err", err)
			}
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		}
	}
}
