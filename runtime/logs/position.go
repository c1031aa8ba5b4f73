// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"slices"
	"time"
)

// disorder is how much older a line may be than the previous one: two goroutines of the node write the outputs of a
// container to its log, and each sets the time of a line before it waits for its turn.
const disorder = time.Second

// logMemory is the number of lines whose times are stored. For a faster log, older lines count as read.
const logMemory = 64 << 10

// logPosition is the position at which the reading of a log can be resumed. The servers' resolution is a second, so
// lines are sent again; their times, and the number of lines with each time, identify them.
type logPosition struct {
	newest time.Time
	recent []time.Time // of the last lines, in order
	floor  time.Time   // older lines that are not in recent count as read
}

// add records a line that was read.
func (p *logPosition) add(at time.Time) {
	if p.newest.IsZero() {
		p.floor = at // older lines were not requested
	}
	if at.After(p.newest) {
		p.newest = at
	}
	if len(p.recent) == logMemory {
		p.forget()
	}
	p.recent = append(p.recent, at)
}

// forget removes the times that are too old to matter, or else the older half.
func (p *logPosition) forget() {
	kept := p.recent[:0]
	for _, at := range p.recent {
		if !at.Before(p.since()) {
			kept = append(kept, at)
		}
	}
	if len(kept) > logMemory/2 {
		p.floor = kept[len(kept)/2]
		kept = kept[:copy(kept, kept[len(kept)/2:])]
	}
	p.recent = kept
}

// compact releases the memory for times that are too old to matter.
func (p *logPosition) compact() {
	p.forget()
	p.recent = slices.Clone(p.recent)
}

// since returns the time from which the log is read again, or the zero time before the first line.
func (p *logPosition) since() time.Time {
	if p.newest.IsZero() {
		return time.Time{}
	}
	return p.newest.Add(-disorder).Truncate(time.Second)
}

// repeats returns a function that reports whether a line that is sent again was read before.
func (p *logPosition) repeats() func(at time.Time) bool {
	left, since := map[time.Time]int{}, p.since()
	if p.floor.After(since) {
		since = p.floor
	}
	for _, at := range p.recent {
		left[at.UTC()]++
	}
	return func(at time.Time) bool {
		at = at.UTC()
		if left[at] > 0 {
			left[at]--
			return true
		}
		return at.Before(since)
	}
}
