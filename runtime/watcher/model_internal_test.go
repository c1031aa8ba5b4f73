// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"io"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostPerMinute bounds the requests in any minute, except the pages of a list after its first page. A watch that ends
// normally, or that has delivered a version, is followed by the next one a second after it was opened at the earliest:
// that makes 60. The other requests follow delays that double with each failure.
const mostPerMinute = 90

// model is a server and a consumer that check each step against the laws of the package.
type model struct {
	t     *testing.T
	rand  func(n int) int
	now   time.Time
	state state

	window   bool        // the server also sends objects of other shards
	version  uint64      // the server's newest
	seen     uint64      // the newest version of a watch that the server has sent
	listing  bool        // the consumer is within a list
	broken   bool        // the list was interrupted, and must begin again
	synced   bool        // the consumer has a state
	requests []time.Time // in the last minute
	trace    []cell      // the last steps
}

// FuzzStepKeepsItsLaws runs random responses of a server through the step. The data is repeated, so that short data is
// a server that always behaves alike.
func FuzzStepKeepsItsLaws(f *testing.F) {
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 1+r.IntN(1+int(seed/20)))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(seed%4 == 0, data)
	}
	f.Fuzz(func(t *testing.T, resume bool, data []byte) {
		m := &model{t: t, now: now, version: 100}
		if len(data) == 0 {
			return
		}
		next := 0
		m.rand = func(n int) int {
			next++
			return int(data[(next-1)%len(data)]) % n
		}
		if resume {
			m.state, m.synced, m.seen = resumed("50"), true, 50
		} else {
			m.window = m.rand(2) == 0
		}
		for i := 0; i < 200 && !t.Failed(); i++ {
			m.request()
		}
		if t.Failed() {
			for _, c := range m.trace {
				t.Logf("%v: %+v + %+v = %+v, %+v", c.in.now.Sub(now), c.from, c.in, c.to, c.out)
			}
		}
	})
}

func (m *model) errorf(format string, args ...any) {
	m.t.Helper()
	m.t.Errorf(format, args...)
}

// request plays one request from its start to its end, and the delay after it.
func (m *model) request() {
	if m.rand(3) == 0 { // what a Server may know
		m.state = m.state.unstreamed()
	}
	switch s := m.state; {
	case s.phase == watching && s.rv == "":
		m.errorf("a watch without a version")
	case s.phase == watching && s.rv != strconv.FormatUint(m.seen, 10):
		m.errorf("a watch from version %s, but the server has sent %d", s.rv, m.seen)
	}
	if m.state.token == "" { // unlike the further pages of a list
		m.broken = m.listing
		m.count()
	}
	var out output
	if m.state.phase == paging {
		out = m.page()
	} else {
		out = m.watch()
	}
	if out.delay < 0 || out.delay > longestDelay || out.delay > 0 && out.delay < firstDelay {
		m.errorf("a delay of %v", out.delay)
	}
	m.now = m.now.Add(max(out.delay, out.atLeast)) // the shortest time that the driver waits
}

// count adds a request, and checks how many were sent within a minute.
func (m *model) count() {
	m.requests = append(m.requests, m.now)
	for m.now.Sub(m.requests[0]) >= time.Minute {
		m.requests = m.requests[1:]
	}
	if len(m.requests) > mostPerMinute {
		m.errorf("%d requests in a minute", len(m.requests))
	}
}

func (m *model) page() output {
	for range m.rand(3) {
		m.take(input{kind: gotObject, rv: m.old(), foreign: m.foreign()})
	}
	if m.rand(2) == 0 {
		in := input{kind: gotPage, rv: m.newest()}
		if m.rand(2) == 0 {
			in.token = "t"
		}
		return m.take(in)
	}
	return m.end()
}

func (m *model) watch() output {
	if m.rand(4) == 0 {
		return m.end() // without being accepted
	}
	m.take(input{kind: gotOpen})
	for range m.rand(6) {
		kinds := []inputKind{gotObject, gotObject, gotModified, gotDelete, gotBookmark, gotStart}
		waits := []time.Duration{0, 0, 0, time.Millisecond, time.Second, 25 * time.Second}
		in := input{kind: kinds[m.rand(len(kinds))], waited: waits[m.rand(len(waits))]}
		m.now = m.now.Add(in.waited)
		if m.state.phase == streaming && in.kind == gotObject {
			in.rv = m.old()
		} else {
			in.rv = m.newest()
		}
		if m.rand(20) == 0 {
			in.rv = ""
		}
		if in.kind == gotObject || in.kind == gotModified || in.kind == gotDelete {
			in.foreign = m.foreign()
		}
		if out := m.take(in); out.done {
			return out
		}
	}
	lives := []time.Duration{0, time.Millisecond, time.Second, time.Minute, 5 * time.Minute}
	m.now = m.now.Add(lives[m.rand(len(lives))])
	return m.end()
}

// end ends the current request.
func (m *model) end() output {
	errs := []error{
		errExpired, errGone, errForbidden, errInternal, errBusy, errTooNew, errUnknown, io.ErrUnexpectedEOF,
		status(400, metav1.StatusReasonBadRequest), status(422, metav1.StatusReasonInvalid),
	}
	switch m.rand(4) {
	case 3:
		if m.rand(8) == 0 {
			m.requests = nil // the consumer has caused those that follow
			return m.take(input{kind: gotMoved})
		}
	case 0:
		if m.state.phase != paging {
			return m.take(input{kind: gotEnd})
		}
	case 1:
		m.now = m.now.Add(streamSilence) // the shortest silence
		return m.take(input{kind: gotSilence, err: errUnknown})
	}
	return m.take(input{kind: gotError, err: errs[m.rand(len(errs))]})
}

// foreign reports whether the next object is of another shard.
func (m *model) foreign() bool { return m.window && m.rand(2) == 0 }

// newest changes an object, and returns its version.
func (m *model) newest() string {
	m.version++
	return strconv.FormatUint(m.version, 10)
}

// old returns the version of an object in a list.
func (m *model) old() string { return strconv.Itoa(1 + m.rand(100)) }

// take runs a step and checks it.
func (m *model) take(in input) output {
	in.now = m.now
	before := m.state
	to, out := before.step(in)
	m.state = to
	m.trace = append(m.trace[max(0, len(m.trace)-8):], cell{from: before, in: in, to: to, out: out})
	m.emitted(in, out)
	if in.foreign {
		if out.init || out.emit != 0 {
			m.errorf("the consumer receives an object of another shard")
		}
		if before.phase == watching {
			m.advance(in.rv)
		}
	}
	ends := in.kind == gotMoved || in.kind == gotEnd || in.kind == gotSilence || in.kind == gotError
	switch {
	case (ends || in.kind == gotPage) && !out.done:
		m.errorf("the request is over, but the step continues")
	case in.err != nil && out.trouble == nil && (before.phase != streaming || !rejected(in.err)):
		m.errorf("the error %v is not reported", in.err)
	case out.refused && out.emit != InitDone:
		m.errorf("the server is judged before another list has succeeded")
	}
	return out
}

// emitted checks the events for the consumer.
func (m *model) emitted(in input, out output) {
	if out.init {
		if m.listing && !m.broken {
			m.errorf("a second Init within a list")
		}
		m.listing, m.broken = true, false
	}
	switch out.emit {
	case InitApply:
		if !m.listing || m.broken {
			m.errorf("an InitApply outside of a list")
		}
	case InitDone:
		if !m.listing || m.broken {
			m.errorf("an InitDone without its Init")
		}
		m.listing, m.synced = false, true
		m.advance(m.state.rv)
	case Apply, Bookmark:
		if m.listing || !m.synced {
			m.errorf("a change before the list is complete")
		}
		m.advance(in.rv)
	case Delete:
		if !m.listing && !m.synced {
			m.errorf("a delete before a list")
		}
		if !m.listing {
			m.advance(in.rv)
		}
	case Init:
		m.errorf("Init is an own output")
	}
}

// advance checks that a version is not older than the last one.
func (m *model) advance(rv string) {
	if rv == "" {
		return
	}
	v, err := strconv.ParseUint(rv, 10, 64)
	if err != nil || v < m.seen {
		m.errorf("version %s after %d: %v", rv, m.seen, err)
	}
	m.seen = v
}
