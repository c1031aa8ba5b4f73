// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestStatusIsReportedAfterAGapOfRenewals has a server that fails at times, and a machine that is suspended.
func TestStatusIsReportedAfterAGapOfRenewals(t *testing.T) {
	const s, minute = time.Second, time.Minute
	for name, tc := range map[string]struct {
		renewals   []time.Duration // the times of attempts, the failed ones negative
		failing    time.Duration   // until when reports fail
		wantReport []time.Duration // attempts
	}{
		"renewals succeed": {
			[]time.Duration{
				40 * s, 80 * s, 2 * minute, 160 * s, 200 * s, 4 * minute, 280 * s, 5*minute - s, 5 * minute, 5*minute + 10*s,
			}, 0, []time.Duration{5 * minute},
		},
		"a renewal fails": {[]time.Duration{10 * s, -20 * s, -30 * s, 40 * s, 50 * s}, 0, []time.Duration{40 * s}},
		"a renewal is late": {
			[]time.Duration{40 * s, 80*s + 1, 90 * s, 130*s + 1, 140 * s}, 0, []time.Duration{80*s + 1, 130*s + 1},
		},
		"a report fails": {
			[]time.Duration{-10 * s, 20 * s, 30 * s, 40 * s, 50 * s}, 35 * s, []time.Duration{20 * s, 30 * s, 40 * s},
		},
		"a report is due and fails, with a renewal": {
			[]time.Duration{-5 * minute, -(5*minute + 10*s), 5*minute + 20*s, 5*minute + 30*s},
			5*minute + 5*s,
			[]time.Duration{5 * minute, 5*minute + 10*s, 5*minute + 20*s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, renewal, failed := time.Now(), time.Duration(0), errors.New("on purpose")
				var reports []time.Duration
				b := newBeat(func() error {
					if renewal < 0 {
						return failed
					}
					return nil
				}, func() error {
					reports = append(reports, time.Since(begun))
					if time.Since(begun) < tc.failing {
						return failed
					}
					return nil
				})
				for _, renewal = range tc.renewals {
					time.Sleep(max(renewal, -renewal) - time.Since(begun))
					before := len(reports)
					reportFails := max(renewal, -renewal) < tc.failing
					if err := b.next(); (err != nil) != (renewal < 0 || len(reports) > before && reportFails) {
						t.Errorf("next = %v at %v", err, renewal)
					}
				}
				if !slices.Equal(reports, tc.wantReport) {
					t.Errorf("reports at %v, want %v", reports, tc.wantReport)
				}
			})
		})
	}
}
