// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"io"
	"sync"
	"time"

	"github.com/kube-go/sdk/client/pod"
)

// The maximum number of lines of each log that wait to be merged, and the maximum time that a line waits for older
// lines of other logs. A log without lines for that time is quiet: the lines of a log that has the maximum number of
// lines do not wait for it, since they would limit the speed at which that log is read.
const (
	mergeLines = 256
	mergeGrace = 250 * time.Millisecond
)

// logMerge merges the lines of many logs by time. It is safe for concurrent use.
type logMerge struct {
	grace time.Duration // the maximum wait for older lines; no limit if it is negative

	mu      sync.Mutex // guards the fields below, and the sources
	changed sync.Cond  // of mu: a field below has changed
	sources map[*logSource]struct{}
	open    bool  // sources may be added
	ended   bool  // the consumer has stopped
	err     error // why the merge ends early
}

// logSource is one log of a [logMerge].
type logSource struct {
	merge  *logMerge
	lines  []waitingLine // the oldest first
	empty  time.Time     // since when it has no lines, if it has none
	closed bool          // there are no more lines
}

// waitingLine is a line and the time at which it arrived.
type waitingLine struct {
	pod.LogLine
	came time.Time
}

func newLogMerge(grace time.Duration) *logMerge {
	m := &logMerge{grace: grace, sources: map[*logSource]struct{}{}}
	m.changed.L = &m.mu
	return m
}

// setOpen sets whether sources may be added. While they may, the merge does not end.
func (m *logMerge) setOpen(open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = open
	m.changed.Broadcast()
}

// add returns a new source. The merge does not end before the source is closed.
func (m *logMerge) add() *logSource {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &logSource{merge: m, empty: time.Now()}
	m.sources[s] = struct{}{}
	return s
}

// fail ends the merge with an error after the lines that have arrived.
func (m *logMerge) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.changed.Broadcast()
}

// stop ends the merge immediately.
func (m *logMerge) stop(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.ended = true
	m.changed.Broadcast()
}

// push waits for room and adds a line. It reports whether the consumer wants more. After an error it reports false,
// since the lines of a busy log would otherwise delay the error forever.
func (s *logSource) push(line pod.LogLine) bool {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(s.lines) >= mergeLines && m.err == nil && !m.ended {
		m.changed.Wait()
	}
	if m.err != nil || m.ended {
		return false
	}
	s.lines = append(s.lines, waitingLine{line, time.Now()})
	m.changed.Broadcast()
	return true
}

// close ends the source.
func (s *logSource) close() {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(s.lines) == 0 {
		delete(m.sources, s)
	} else {
		s.closed = true // its remaining lines are returned first
	}
	m.changed.Broadcast()
}

// next returns the next line, or io.EOF at the end.
func (m *logMerge) next() (pod.LogLine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		oldest, complete := m.oldest()
		switch {
		case m.ended:
			return pod.LogLine{}, m.err
		case oldest != nil && (complete || m.err != nil || m.grace >= 0 && !time.Now().Before(m.due(oldest))):
			return m.take(oldest), nil
		case oldest == nil && m.err != nil:
			return pod.LogLine{}, m.err
		case oldest == nil && complete && !m.open:
			return pod.LogLine{}, io.EOF
		}
		m.wait(oldest)
	}
}

// oldest returns the source with the oldest line, or nil without lines, and whether no other line can be older.
func (m *logMerge) oldest() (oldest *logSource, complete bool) {
	complete = m.grace >= 0 || !m.open // without a limit, wait for the logs that are still to be found
	for s := range m.sources {
		switch {
		case len(s.lines) == 0:
			complete = false
		case oldest == nil || s.lines[0].before(oldest.lines[0]):
			oldest = s
		}
	}
	return oldest, complete
}

// before orders lines by time. A line without a time is first, since it belongs to the previous line.
func (l waitingLine) before(other waitingLine) bool {
	if l.Time.Equal(other.Time) {
		return l.came.Before(other.came)
	}
	return l.Time.Before(other.Time)
}

// due returns when the oldest line no longer waits for older lines: at the end of its grace, or as soon as all logs
// without lines are quiet and the reader of another one is blocked.
func (m *logMerge) due(oldest *logSource) time.Time {
	blocked, emptied := false, time.Time{}
	for s := range m.sources {
		switch {
		case len(s.lines) >= mergeLines:
			blocked = true
		case len(s.lines) == 0 && s.empty.After(emptied):
			emptied = s.empty
		}
	}
	since := oldest.lines[0].came
	if blocked && emptied.Before(since) {
		since = emptied
	}
	return since.Add(m.grace)
}

// wait waits for a change, or until the oldest line no longer waits for older lines.
func (m *logMerge) wait(oldest *logSource) {
	if oldest != nil && m.grace >= 0 {
		timer := time.AfterFunc(time.Until(m.due(oldest)), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.changed.Broadcast()
		})
		defer timer.Stop()
	}
	m.changed.Wait()
}

func (m *logMerge) take(s *logSource) pod.LogLine {
	line := s.lines[0].LogLine
	if s.lines = s.lines[1:]; len(s.lines) == 0 {
		s.empty = time.Now()
		if s.closed {
			delete(m.sources, s)
		}
	}
	m.changed.Broadcast()
	return line
}
