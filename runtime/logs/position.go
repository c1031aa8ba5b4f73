// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import "time"

// disorder is how much older a line may be than one before it: the outputs of a container are written to its log by two
// goroutines of the node, each of which stamps its lines before it waits for its turn.
const disorder = time.Second

// logMemory is of how many lines the times are remembered. Of a log that is faster than that, the disorder is forgotten.
const logMemory = 64 << 10

// logPosition is how far a log was read, so that it can be taken up there. Servers know seconds only, so lines that were
// read come again; which they are is told by their times, and by how many had each.
type logPosition struct {
	newest time.Time
	recent []time.Time // of the last lines, in their order
	floor  time.Time   // what is older, and not among them, counts as read
}

// add notes a line that was read.
func (p *logPosition) add(at time.Time) {
	if p.newest.IsZero() {
		p.floor = at // what is older was not asked for
	}
	if at.After(p.newest) {
		p.newest = at
	}
	if len(p.recent) == logMemory {
		p.forget()
	}
	p.recent = append(p.recent, at)
}

// forget makes room: for what is too old to matter, or else for the older half.
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

// since returns from when on the log is to be read again; zero before the first line.
func (p *logPosition) since() time.Time {
	if p.newest.IsZero() {
		return time.Time{}
	}
	return p.newest.Add(-disorder).Truncate(time.Second)
}

// repeats returns a function that says of each line that comes again whether it was read before.
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
