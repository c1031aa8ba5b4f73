// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

// Options are the options of [NewRecorder]. The zero value of a field is its default.
type Options struct {
	// Controller is the name of the reporting controller, such as "document-controller", which may be qualified with a
	// domain. Default: the file name of the program, changed to a valid name.
	Controller string

	// Instance identifies the process of the controller. Default: the controller and the host name, which in a cluster
	// is the name of the pod.
	Instance string

	// QueueSize is the maximum number of series of events that wait to be written. Default: 1000.
	QueueSize int

	// RequestsPerSecond is the maximum average rate of writes. After a pause, the writes of five seconds are sent without
	// a delay. Default: 20.
	RequestsPerSecond float64

	// StopTimeout is the maximum time that Run continues to write after its context has ended. Default: 5 seconds.
	StopTimeout time.Duration

	// Logger logs dropped events and omitted related objects as warnings. Default: [slog.Default].
	Logger *slog.Logger
}

// Limits of the driver.
const (
	defaultQueue = 1000
	defaultFlush = 5 * time.Second
	defaultRate  = 20
	sweepEvery   = 30 * time.Second
	writeTimeout = 15 * time.Second // longer than the default timeout of an admission webhook, 10 s
	shortestWait = time.Second      // after a failure; it doubles
	longestWait  = 30 * time.Second
	idleWait     = 10 * time.Second // before it is logged that events wait while Run is not running
	idleReport   = time.Minute      // between reports of dropped events while Run is not running
)

// Recorder writes events for one controller. It is safe for concurrent use.
type Recorder struct {
	api     *client.API[object]
	options Options
	invalid error         // the error of invalid options
	wake    chan struct{} // signals that the queue is not empty

	mu       sync.Mutex // guards the fields below
	book     *book
	running  bool
	idle     *time.Timer // logs that Run is not running, some time after the first event
	warned   time.Time   // when that was logged because of a dropped event
	reported uint64      // the part of book.dropped that was logged

	swept time.Time // used by Run only
}

// NewRecorder returns a recorder. It writes events while [Recorder.Run] runs; earlier events are queued. If Run is not
// running 10 s after the first event, this is logged.
func NewRecorder(c *client.Client, o *Options) *Recorder {
	r := &Recorder{api: client.ClusterWide[object](c), wake: make(chan struct{}, 1)}
	if o != nil {
		r.options = *o
	}
	o = &r.options
	if o.Controller == "" {
		o.Controller = controllerOf(filepath.Base(os.Args[0]))
	}
	if o.Instance == "" {
		o.Instance = o.Controller
		if host, err := os.Hostname(); err == nil {
			o.Instance += "-" + host
		}
	}
	o.Instance = excerpt.Of(o.Instance, maxInstance)
	if o.QueueSize == 0 {
		o.QueueSize = defaultQueue
	}
	if o.RequestsPerSecond == 0 {
		o.RequestsPerSecond = defaultRate
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = defaultFlush
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case c == nil:
		r.invalid = errors.New("event recorder: the client is nil: pass one of client.New")
	case len(validation.IsQualifiedName(o.Controller)) > 0:
		r.invalid = fmt.Errorf("event recorder: Options.Controller %q is not a qualified name, such as document-controller "+
			"or example.com/document-controller", o.Controller)
	case !(o.RequestsPerSecond > 0) || math.IsInf(o.RequestsPerSecond, 1):
		r.invalid = fmt.Errorf("event recorder: Options.RequestsPerSecond is %v: want a positive number", o.RequestsPerSecond)
	case o.QueueSize < 0:
		r.invalid = fmt.Errorf("event recorder: Options.QueueSize: %d is negative; leave it zero for the default", o.QueueSize)
	case o.StopTimeout < 0:
		r.invalid = fmt.Errorf("event recorder: Options.StopTimeout: %v is negative; leave it zero for the default",
			o.StopTimeout)
	}
	r.book = newBook(strings.ToLower(rand.Text()[:8]), max(o.QueueSize, 0), o.RequestsPerSecond)
	return r
}

// controllerOf returns the name of the controller of a program. It is a qualified name: hyphens replace invalid
// characters, and it begins and ends with a letter or a digit.
func controllerOf(program string) string {
	inner := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	outer := func(r rune) bool { return !inner(r) }
	name := strings.Map(func(r rune) rune {
		if inner(r) || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, program)
	name = strings.TrimLeftFunc(name, outer)
	name = strings.TrimRightFunc(name[:min(len(name), maxController)], outer)
	return cmp.Or(name, "controller")
}

// Event records that e happened to obj at this time. It returns immediately. An invalid e is logged and dropped. The
// object needs a name and a kind: it may come from the server, have a type that [core.ResourceOf] knows, or be a
// metav1.PartialObjectMetadata with an apiVersion, kind and name.
func (r *Recorder) Event(obj core.Object, e Event) {
	id, unrelated, err := identify(obj, e)
	switch {
	case err != nil:
		r.options.Logger.Error("event dropped", "reason", e.Reason, "note", e.Note, "err", err)
	case unrelated != nil:
		r.options.Logger.Warn("event recorded without its related object", "reason", e.Reason, "err", unrelated)
	}
	if r.observe(id, e.Note, err == nil) {
		r.reportIdle()
		r.report()
	}
}

// reportIdle logs that Run is not running, if that is so.
func (r *Recorder) reportIdle() {
	r.mu.Lock()
	idle := !r.running
	r.mu.Unlock()
	if idle {
		r.options.Logger.Warn("events are not written while Recorder.Run is not running: add the recorder to a manager with " +
			"AddToAll, or call its Run")
	}
}

// observe adds an event to the book, or only counts it as dropped if it is invalid. It reports whether to log now that
// Run is not running, since an event was dropped.
func (r *Recorder) observe(id identity, note string, valid bool) (warn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !valid {
		r.book.dropped++
		return false
	}
	now, before := time.Now(), r.book.dropped
	if r.book.observe(now, id, excerpt.Of(note, maxNote)) {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	if r.running {
		return false
	}
	if r.idle == nil {
		r.idle = time.AfterFunc(idleWait, r.reportIdle)
	}
	warn = r.book.dropped > before && now.Sub(r.warned) >= idleReport
	if warn {
		r.warned = now
	}
	return warn
}

// Dropped returns the number of events that were dropped, including repetitions.
func (r *Recorder) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.dropped
}

// Run writes events until ctx ends, and then the last counts of all series, for at most [Options.StopTimeout]. It
// returns the context's cause, whether or not it could write all events. If it can't start, it returns another error
// immediately.
func (r *Recorder) Run(ctx context.Context) error {
	if err := r.start(); err != nil {
		return err
	}
	defer r.stop()
	defer r.report() // a last time
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	r.swept = time.Now()
	for {
		r.drain(ctx)
		select {
		case <-ctx.Done():
			r.flush(ctx)
			return context.Cause(ctx)
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// sweep ends the series without recent repetitions and reports what was dropped, unless it has done so recently.
func (r *Recorder) sweep() {
	now := time.Now()
	if now.Sub(r.swept) < sweepEvery-time.Second { // the ticker may be a little early
		return
	}
	r.swept = now
	r.tell(func(b *book) { b.sweep(now) })
	r.report()
}

// report logs how many events were dropped since the last report.
func (r *Recorder) report() {
	var n uint64
	var e excess
	r.tell(func(b *book) {
		n, r.reported = b.dropped-r.reported, b.dropped
		e, b.excess = b.excess, excess{}
	})
	if e.count > 0 {
		r.options.Logger.Warn("events dropped: an object has too many different ones; put variable information into the note",
			"count", e.count, "kind", e.last.Kind, "namespace", e.last.Namespace, "name", e.last.Name)
	}
	if n -= e.count; n > 0 {
		r.options.Logger.Warn("events dropped", "count", n)
	}
}

func (r *Recorder) start() error {
	if r.invalid != nil {
		return r.invalid
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		return errors.New("event recorder: Run was called while it was running")
	}
	if r.idle != nil {
		r.idle.Stop()
	}
	r.running, r.idle, r.warned = true, nil, time.Time{}
	return nil
}

func (r *Recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
}

// tell calls f with the book locked.
func (r *Recorder) tell(event func(*book)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	event(r.book)
}

// flush writes the remaining events after the context has ended.
func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.StopTimeout)
	defer cancel()
	r.tell((*book).close)
	r.drain(ctx)
	lost := 0
	r.tell(func(b *book) {
		lost = b.abandon()
		r.reported += uint64(lost)
	})
	if lost > 0 {
		r.options.Logger.Warn("events dropped at shutdown", "count", lost)
	}
}

// drain writes until the queue is empty or the context ends.
func (r *Recorder) drain(ctx context.Context) {
	pause := shortestWait
	for ctx.Err() == nil {
		r.sweep()
		var (
			w    write
			soon time.Duration
			ok   bool
		)
		r.tell(func(b *book) { w, soon, ok = b.next(time.Now()) })
		if !ok {
			return
		}
		if soon > 0 { // a new event may be due earlier, and so may a sweep
			select {
			case <-ctx.Done():
			case <-r.wake:
			case <-time.After(min(soon, sweepEvery)):
			}
			continue
		}
		err := r.send(ctx, w)
		if !r.settle(w, err) {
			pause = shortestWait
			continue
		}
		atLeast, _ := core.RetryAfter(err)
		wait := max(atLeast, pause) + mathrand.N(pause/4)
		pause = min(2*pause, longestWait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// settle records the result of a write in the book, and reports whether the server has a problem. An internal error is
// no reason to pause all writes: the server also has one if an admission webhook for the namespace fails.
func (r *Recorder) settle(w write, err error) (trouble bool) {
	now, given := time.Now(), false
	switch {
	case err == nil:
		r.tell(func(b *book) { b.written(w, now) })
	case w.create && errors.Is(err, core.ErrAlreadyExists): // the response to an earlier attempt was lost
		r.tell(func(b *book) { b.existed(w, now) })
	case !w.create && apierr.NotFound(err):
		r.tell(func(b *book) { b.expired(w) })
	case errors.Is(err, core.ErrInternal):
		atLeast, _ := core.RetryAfter(err)
		r.tell(func(b *book) { given = !b.failedInside(w, now, atLeast) })
	case isTransient(err):
		r.tell(func(b *book) { given = !b.failed(w, now) })
		trouble = true
	default:
		r.tell(func(b *book) {
			b.release(w)
			b.refused(w, now)
		})
		given = true
	}
	if given {
		r.logRefused(w, err)
	}
	return trouble
}

// isTransient reports whether the write may succeed later: the server is unreachable or overloaded, or a proxy responds
// in its place, as all servers serve events.
func isTransient(err error) bool {
	if _, unsent := errors.AsType[*request.InvalidError](err); unsent {
		return false
	}
	if _, notServed := errors.AsType[*client.NotServedError](err); notServed {
		return true
	}
	_, answered := errors.AsType[*core.StatusError](err)
	return !answered || core.IsRetryable(err)
}

func (r *Recorder) logRefused(w write, err error) {
	id := w.series.id
	r.options.Logger.Warn("event dropped", "reason", id.reason, "kind", id.regarding.Kind,
		"namespace", id.regarding.Namespace, "name", id.regarding.Name, "err", err)
}

// send sends one write.
func (r *Recorder) send(ctx context.Context, w write) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	s := w.series
	var repeated *count
	if w.count > 1 {
		repeated = &count{Count: w.count, LastObservedTime: metav1.NewMicroTime(w.last)}
	}
	namespace := s.id.namespace()
	api := r.api.In(namespace)
	if !w.create {
		body := map[string]any{"series": repeated}
		_, err := api.Patch(ctx, s.name, request.MergePatch(body), nil)
		return err
	}
	obj := &object{
		EventTime:           metav1.NewMicroTime(s.first),
		Series:              repeated,
		ReportingController: r.options.Controller,
		ReportingInstance:   r.options.Instance,
		Action:              s.id.action,
		Reason:              s.id.reason,
		Regarding:           s.id.regarding,
		Note:                s.note,
		Type:                s.id.typ,
	}
	obj.Namespace, obj.Name = namespace, s.name
	if s.id.related != (reference{}) {
		obj.Related = &s.id.related
	}
	_, err := api.Create(ctx, obj, nil)
	return err
}
