// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"
)

// Phase is what a module does.
type Phase string

// The phases of modules.
const (
	Starting    Phase = "Starting"
	Running     Phase = "Running"
	Unloaded    Phase = "Unloaded"    // runs, and is idle: its memory is stored
	BackOff     Phase = "BackOff"     // waits after a failure or an error of the host
	Quarantined Phase = "Quarantined" // failed repeatedly, or can't run its controllers, until Host.Set changes it
	Removed     Phase = "Removed"
)

// stable is how long an instance must run before its next failure counts as the first.
const stable = 5 * time.Minute

// maxBackOff is the longest time between two starts of a module.
const maxBackOff = 5 * time.Minute

// lifecycle is the state of a module, apart from its instance. Its methods are pure steps: they return when the module
// must be started, and the host does it.
type lifecycle struct {
	phase    Phase
	since    time.Time
	failures int
	err      error // the last failure, error of the host, or reason why a controller does not run

	hindered int // errors of the host in succession, see hinder

	backOff     time.Duration // after the first failure
	maxFailures int
}

// started records that the instance runs.
func (l *lifecycle) started(now time.Time) {
	if l.phase == Starting {
		l.phase, l.since, l.hindered = Running, now, 0
	}
}

// failed records that the instance has ended, and returns the time until the next start. It returns false if there is
// none.
func (l *lifecycle) failed(now time.Time, err error) (time.Duration, bool) {
	if l.phase != Starting && l.phase != Running {
		return 0, false
	}
	l.forgive(now)
	l.failures++
	l.err, l.since = err, now
	if l.failures >= l.maxFailures {
		l.phase = Quarantined
		return 0, false
	}
	l.phase = BackOff
	return l.wait(l.failures), true
}

// hinder is failed for an error of the host. The module has not failed, so it is never quarantined, and its error says
// so.
func (l *lifecycle) hinder(now time.Time, err error) (time.Duration, bool) {
	if l.phase != Starting && l.phase != Running {
		return 0, false
	}
	l.forgive(now)
	l.hindered++
	l.phase, l.since = BackOff, now
	l.err = fmt.Errorf("the host can't run the module: %w", err)
	return l.wait(l.hindered), true
}

// forgive forgets failures before an instance that has run for long enough.
func (l *lifecycle) forgive(now time.Time) {
	if l.phase == Running && now.Sub(l.since) >= stable {
		l.failures = 0
	}
}

// wait returns the time until the next start after a number of errors in succession.
func (l *lifecycle) wait(errors int) time.Duration {
	wait := l.backOff
	for range errors - 1 {
		wait = min(2*wait, maxBackOff)
	}
	return wait
}

// quarantine records that the controllers of the module can't run, and reports whether it was starting or running.
func (l *lifecycle) quarantine(now time.Time) bool {
	if l.phase != Starting && l.phase != Running {
		return false
	}
	l.phase, l.since = Quarantined, now
	return true
}

// due records that the time until the next start has passed, and reports whether to start.
func (l *lifecycle) due(now time.Time) bool {
	if l.phase != BackOff {
		return false
	}
	l.phase, l.since = Starting, now
	return true
}

// removed records that the module must not start again.
func (l *lifecycle) removed(now time.Time) {
	l.phase, l.since = Removed, now
}
