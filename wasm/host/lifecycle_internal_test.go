// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestLifecycleKeepsItsRules runs random histories, and compares the lifecycle with its rules: what starts, when, and
// when a module is quarantined.
func TestLifecycleKeepsItsRules(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		most := 1 + r.IntN(5)
		now := time.Unix(0, 0)
		l := lifecycle{phase: Starting, since: now, backOff: time.Second, maxFailures: most}
		row, hindered := 0, 0 // failures and errors of the host in succession
		var ran time.Duration
		for range 50 {
			before := l.phase
			switch r.IntN(5) {
			case 0:
				l.started(now)
				if before == Starting {
					ran, hindered = 0, 0
				}
				if before == Starting && l.phase != Running || before != Starting && l.phase != before {
					t.Fatalf("seed %d: started: %s becomes %s", seed, before, l.phase)
				}
			case 1:
				wait, again := l.failed(now, errors.New("failure"))
				switch before {
				case Starting, Running:
					if before == Running && ran >= stable {
						row = 0
					}
					row++
					want := min(time.Second<<(row-1), maxBackOff)
					if again != (row < most) || again && wait != want || again != (l.phase == BackOff) {
						t.Fatalf("seed %d: failure %d of %d: wait %v, %v, phase %s; want %v", seed, row, most, wait, again, l.phase, want)
					}
				default:
					if again || l.phase != before {
						t.Fatalf("seed %d: a failure in phase %s becomes %s", seed, before, l.phase)
					}
				}
			case 4:
				wait, again := l.hinder(now, errors.New("error of the host"))
				if runs := before == Starting || before == Running; again != runs || again != (l.phase == BackOff && runs) {
					t.Fatalf("seed %d: an error of the host in phase %s: %v, phase %s", seed, before, again, l.phase)
				}
				if !again {
					break
				}
				if before == Running && ran >= stable {
					row = 0
				}
				hindered++
				if want := min(time.Second<<(hindered-1), maxBackOff); wait != want {
					t.Fatalf("seed %d: error %d of the host: wait %v, want %v", seed, hindered, wait, want)
				}
			case 2:
				if due := l.due(now); due != (before == BackOff) || due != (l.phase == Starting && before != Starting) {
					t.Fatalf("seed %d: due in phase %s = %v, becomes %s", seed, before, due, l.phase)
				}
			case 3:
				d := time.Duration(r.Int64N(int64(2 * stable)))
				now, ran = now.Add(d), ran+d
			}
			if (l.phase == Quarantined) != (row >= most) {
				t.Fatalf("seed %d: phase %s after %d failures of %d", seed, l.phase, row, most)
			}
		}
		if l.removed(now); l.due(now) || l.phase != Removed {
			t.Fatalf("seed %d: a removed module starts again", seed)
		}
	}
}
