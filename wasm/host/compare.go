// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// Comparison is what [Compare] has found.
type Comparison struct {
	Calls       int // of the recording
	Same        int // writes, and results of reconciles, that are those of the recording
	Differences []Difference
}

// Difference is a write, or the result of a reconcile, that is not that of the recording. It may contain what the
// module writes, such as the data of secrets.
type Difference struct {
	Subject  string // such as "PATCH /api/v1/namespaces/apps/configmaps/hello?…"
	Recorded []byte // the recorded body; nil if the recording does not have it, or it is empty
	Now      []byte // the body of the module; nil if the module has not sent it, or it is empty
}

func (d Difference) equal(other Difference) bool {
	return d.Subject == other.Subject && bytes.Equal(d.Recorded, other.Recorded) && bytes.Equal(d.Now, other.Now)
}

// Compare runs a module with a recording of [Module.Record], such as one of the previous version, and compares the
// writes and results of both. Nothing is sent to a server: a request gets the recorded response to the same request,
// and the time is that of the recording. A request that the recording does not have fails as if the server could not be
// reached, and is a difference.
//
// A recording may end at any byte, such as after a crash of the host. A last call without its end, including one that
// has failed, is left out.
func Compare(
	ctx context.Context, binary []byte, recording io.Reader, o *RecordingOptions,
) (found *Comparison, err error) {
	s, err := readScript(recording)
	if err != nil {
		return nil, err
	}
	s.finish()
	g, end, err := isolated(ctx, binary, s.cover, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	g.closed = true // the trial calls it, not turns
	g.trial = newTrial(s, g)
	i, err := g.host.newInstance(g, nil)
	if err != nil {
		return nil, err
	}
	defer i.end(context.Canceled)
	g.instance = i
	if err := g.trial.run(i); err != nil {
		return nil, err
	}
	return &g.trial.found, nil
}

// maxTrialBuffer is Limits.BufferBytes of a module that is compared with a recording.
const maxTrialBuffer = 1 << 30

// isolated returns a guest of a host that has no server, and holds its only place.
func isolated(
	ctx context.Context, binary []byte, c cover, o *RecordingOptions,
) (g *guest, end func() error, err error) {
	h := &Host{slots: make(chan struct{}, 1), programs: make(map[string]*program)}
	h.options.Logger = slog.New(slog.DiscardHandler)
	if o != nil {
		h.options.CompilationDir = o.CompilationDir
	}
	h.ctx, h.end = context.WithCancel(ctx)
	if h.runtime, err = h.newRuntime(h.options.CompilationDir); err != nil {
		h.end()
		return nil, nil, err
	}
	closed := func() error {
		h.end()
		return h.closeRuntimes(ctx)
	}
	m := Module{Name: c.Name, Args: c.Args, Env: c.Env, Limits: Limits{
		// The recorded module may have had other limits than the default. The memory of operations is still limited.
		MemoryBytes: c.Memory, InFlight: math.MaxInt32, Watches: math.MaxInt32, BufferBytes: maxTrialBuffer,
	}}
	if err := m.Limits.setDefaults(); err != nil {
		return nil, nil, errors.Join(err, closed())
	}
	m.Limits.CallTimeout = max(m.Limits.CallTimeout, time.Duration(c.Wake)) // not less, because this machine may be slower
	digest := digestOf(binary)
	g = h.newGuest(m, digest)
	if g.program, err = h.program(ctx, digest, binary); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("module: %w", err), closed())
	}
	h.acquire()
	return g, func() error {
		h.release()
		h.leave(ctx, digest, g.program)
		return closed()
	}, nil
}

// trial is a run of a module with the answers of a recording in place of servers. It has a clock of its own.
type trial struct {
	keyer

	script   *script
	guest    *guest
	instance *instance
	step     int       // of the script
	now      time.Time // in the trial
	zero     time.Time // of the monotonic clock
	random   *rand.ChaCha8
	live     []*liveOperation
	ticks    int
	found    Comparison
}

// liveOperation is an operation of the module, with what the recording has for it.
type liveOperation struct {
	*operation

	question *question
	sent     int       // of its items
	due      time.Time // of a delay
}

// maxTicks is the number of timers that may expire in a trial.
const maxTicks = 100_000

func newTrial(s *script, g *guest) *trial {
	t := &trial{keyer: keyer{make(map[int64]string)}, script: s, guest: g, random: rand.NewChaCha8([32]byte{})}
	t.now = time.Unix(0, 1)
	for _, st := range s.steps {
		if st.at != 0 {
			t.now = time.Unix(0, st.at)
			break
		}
	}
	t.zero = t.now.Add(-time.Second)
	return t
}

// clock returns the time. It passes a little with each read, so that a guest that waits for it ends.
func (t *trial) clock() time.Time {
	t.now = t.now.Add(time.Microsecond)
	return t.now
}

// run calls the module as the recorded one was called.
func (t *trial) run(i *instance) error {
	t.instance = i
	for n := range t.script.steps {
		st := &t.script.steps[n]
		t.step = n
		if err := t.advance(time.Unix(0, st.at)); err != nil {
			return err
		}
		if err := t.call(i, st); err != nil {
			return fmt.Errorf("call %d, %s: %w", n, st.Name, err)
		}
		if err := t.deliver(false); err != nil {
			return fmt.Errorf("call %d, %s: %w", n, st.Name, err)
		}
		t.found.Calls++
	}
	t.missing()
	return nil
}

// call does a step of the script. The items and timers of the module are its own, so these calls are left out.
func (t *trial) call(i *instance, st *step) error {
	switch st.Name {
	case abi.Describe:
		data, _, err := i.act(&st.export)
		if err != nil {
			return err
		}
		var d abi.Description
		if err := wire.UnmarshalJSON(data, &d); err != nil {
			return err
		}
		t.guest.description = d
		return t.guest.check(d)
	case abi.Start:
		_, code, err := i.act(&st.export)
		if err == nil && code != 0 {
			err = fmt.Errorf("the guest returned the code %d (%w)", code, abi.Code(code))
		}
		return err
	case abi.Reconcile:
		data, _, err := i.act(&st.export)
		if err != nil {
			return err
		}
		var in abi.ReconcileRequest
		if err := wire.UnmarshalJSON(st.Message, &in); err != nil {
			return err
		}
		t.compare(fmt.Sprintf("result of %s for %s/%s", in.Controller, in.Namespace, in.Name),
			canonical(st.result), canonical(data))
	}
	return nil
}

// compare records whether two values are the same.
func (t *trial) compare(subject, recorded, now string) {
	if recorded == now {
		t.found.Same++
		return
	}
	t.found.Differences = append(t.found.Differences, Difference{subject, []byte(recorded), []byte(now)})
}

// missing records the writes that the module has not sent.
func (t *trial) missing() {
	for _, key := range slices.Sorted(maps.Keys(t.script.asked)) {
		for _, q := range t.script.asked[key] {
			if q.write && !q.used && q.step < len(t.script.steps) { // not in a call that is left out
				t.found.Differences = append(t.found.Differences, Difference{subject(key), []byte(q.body), nil})
			}
		}
	}
}

// answer returns what the recording has for an operation. A write is compared and used once. A read can be repeated,
// and gets the last recorded state of an object if the recording does not have the wanted one, because the modules may
// read at different times. If there is nothing, the server can't be reached.
func (t *trial) answer(form frame, kind abi.Operation, message []byte) (*question, error) {
	key, body, write := t.key(form, kind, message)
	all := t.script.asked[key]
	n := slices.IndexFunc(all, func(q *question) bool { return !q.used && q.body == body })
	if n < 0 && write {
		n = slices.IndexFunc(all, func(q *question) bool { return !q.used })
	}
	if n < 0 && !write {
		n = slices.IndexFunc(all, func(q *question) bool { return q.body == body })
	}
	if n < 0 && !write {
		n = len(all) - 1
	}
	if n < 0 {
		d := Difference{subject(key), nil, []byte(body)}
		if !slices.ContainsFunc(t.found.Differences, d.equal) { // the module may try it again
			t.found.Differences = append(t.found.Differences, d)
		}
		return nil, abi.Unavailable
	}
	q := all[n]
	q.used = true
	if write {
		t.compare(subject(key), q.body, body)
	}
	return q, nil
}

// start starts an operation.
func (t *trial) start(op *operation, kind abi.Operation, message []byte) error {
	if kind == abi.OpDelay {
		var d abi.Delay
		if err := wire.UnmarshalJSON(message, &d); err != nil {
			return abi.Invalid
		}
		t.live = append(t.live, &liveOperation{operation: op, due: t.now.Add(millis(d.Millis))})
		return nil
	}
	q, err := t.answer(frameSubmit, kind, message)
	if err != nil {
		return err
	}
	if code := int64(binary.LittleEndian.Uint64(q.answer)); code < 0 {
		return abi.Code(code)
	}
	t.watches[op.id] = canonical(message)
	t.live = append(t.live, &liveOperation{operation: op, question: q})
	return nil
}

// called returns the result of an operation that the module calls.
func (t *trial) called(kind abi.Operation, message []byte) ([]byte, error) {
	q, err := t.answer(frameCall, kind, message)
	if err != nil {
		return nil, err
	}
	if code := int64(binary.LittleEndian.Uint64(q.answer)); code < 0 {
		return nil, abi.Code(code)
	}
	return q.answer[8:], nil
}

// deliver sends the items that the recording has up to the current step, also those that follow from them.
func (t *trial) deliver(ticking bool) error {
	for {
		for _, l := range t.live {
			l.offer(t)
		}
		t.live = slices.DeleteFunc(t.live, func(l *liveOperation) bool { return l.over() })
		t.guest.mu.Lock()
		items := t.guest.items
		t.guest.items = nil
		t.guest.mu.Unlock()
		if len(items) == 0 && !ticking {
			return nil
		}
		if err := t.guest.deliver(items, ticking); err != nil {
			return err
		}
		ticking = false
	}
}

// offer queues what is due.
func (l *liveOperation) offer(t *trial) {
	if l.question == nil {
		if !l.due.After(t.now) {
			l.operation.put(item{flags: abi.FlagLast})
		}
		return
	}
	for l.sent < len(l.question.items) && l.question.items[l.sent].step <= t.step {
		l.operation.put(l.question.items[l.sent].item)
		l.sent++
	}
}

// over reports whether an operation gets no further items.
func (l *liveOperation) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// advance lets the time pass, and the timers of the module that are due.
func (t *trial) advance(to time.Time) error {
	for {
		next, tick := t.instance.next, true
		for _, l := range t.live {
			if l.question == nil && (next.IsZero() || l.due.Before(next)) {
				next, tick = l.due, false
			}
		}
		if next.IsZero() || next.After(to) {
			break
		}
		if t.ticks++; t.ticks > maxTicks {
			return errors.New("the module has too many timers")
		}
		if t.now.Before(next) {
			t.now = next
		}
		if err := t.deliver(tick); err != nil {
			return fmt.Errorf("%s: %w", abi.Tick, err)
		}
	}
	if t.now.Before(to) {
		t.now = to
	}
	return nil
}

// sleep lets the time pass until a guest without a scheduler continues.
func (t *trial) sleep(until time.Time) {
	if t.now.Before(until) {
		t.now = until
	}
}
