// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"io"
	"sync"
	"time"

	"github.com/kube-go/sdk/client/pod"
)

// Of each log of many, so many lines may wait to be merged; and a line waits so long for lines of other logs that may be
// older.
const (
	mergeLines = 256
	mergeGrace = 250 * time.Millisecond
)

// logMerge puts the lines of many logs into one order: by time, as far as those who follow can know it. It is safe for
// concurrent use.
type logMerge struct {
	grace time.Duration // negative: as long as it takes

	mu      sync.Mutex // guards what follows, and the sources
	changed sync.Cond  // of mu: anything below
	sources map[*logSource]struct{}
	open    bool  // more sources may come
	ended   bool  // nobody takes any more
	err     error // why it ends early
}

// logSource is one log of a [logMerge].
type logSource struct {
	merge  *logMerge
	lines  []waitingLine // the oldest first
	closed bool          // nothing more comes
}

// waitingLine is a line with when it has come.
type waitingLine struct {
	pod.LogLine
	came time.Time
}

func newLogMerge(grace time.Duration) *logMerge {
	m := &logMerge{grace: grace, sources: map[*logSource]struct{}{}}
	m.changed.L = &m.mu
	return m
}

// setOpen says whether more sources may come. While they may, the merging does not end.
func (m *logMerge) setOpen(open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = open
	m.changed.Broadcast()
}

// add returns a new source. The merging does not end before it is closed.
func (m *logMerge) add() *logSource {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &logSource{merge: m}
	m.sources[s] = struct{}{}
	return s
}

// fail ends the merging with an error after the lines that have come.
func (m *logMerge) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.changed.Broadcast()
}

// stop ends the merging at once.
func (m *logMerge) stop(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.ended = true
	m.changed.Broadcast()
}

// push adds a line, and waits until there is room for it. It reports whether anybody wants more.
func (s *logSource) push(line pod.LogLine) bool {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(s.lines) >= mergeLines && !m.ended {
		m.changed.Wait()
	}
	if m.ended {
		return false
	}
	s.lines = append(s.lines, waitingLine{line, time.Now()})
	m.changed.Broadcast()
	return true
}

// close says that nothing more comes.
func (s *logSource) close() {
	m := s.merge
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(s.lines) == 0 {
		delete(m.sources, s)
	} else {
		s.closed = true // what it still has comes out first
	}
	m.changed.Broadcast()
}

// next returns the next line; io.EOF when there is none left.
func (m *logMerge) next() (pod.LogLine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		oldest, complete := m.oldest()
		switch {
		case m.ended:
			return pod.LogLine{}, m.err
		case oldest != nil && (complete || m.err != nil || m.waited(oldest)):
			return m.take(oldest), nil
		case oldest == nil && m.err != nil:
			return pod.LogLine{}, m.err
		case oldest == nil && complete && !m.open:
			return pod.LogLine{}, io.EOF
		}
		m.wait(oldest)
	}
}

// oldest returns the source with the oldest line, nil when no line is there, and whether no other line can be older.
func (m *logMerge) oldest() (oldest *logSource, complete bool) {
	complete = true
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

// before orders lines by time. One without a time goes first, since it belongs to those that went before it.
func (l waitingLine) before(other waitingLine) bool {
	if l.Time.Equal(other.Time) {
		return l.came.Before(other.came)
	}
	return l.Time.Before(other.Time)
}

func (m *logMerge) waited(s *logSource) bool {
	return m.grace >= 0 && time.Since(s.lines[0].came) >= m.grace
}

// wait waits for a change, or until the oldest line has waited long enough.
func (m *logMerge) wait(oldest *logSource) {
	if oldest != nil && m.grace >= 0 {
		timer := time.AfterFunc(m.grace-time.Since(oldest.lines[0].came), func() {
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
	s.lines = s.lines[1:]
	if len(s.lines) == 0 && s.closed {
		delete(m.sources, s)
	}
	m.changed.Broadcast()
	return line
}
