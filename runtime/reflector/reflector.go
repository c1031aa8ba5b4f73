// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Watch says which objects to watch, and how.
	Watch watcher.Options

	// Compression makes a codec that compresses the objects in memory, from samples of them. It is called when there are
	// enough objects. Default: a fast codec that replaces text that many objects have, and halves the memory.
	Compression func(samples [][]byte) (Codec, error)

	// SnapshotDir is a directory in which [Reflector.Run] keeps a file with all objects, so that after a restart of the
	// program the watch resumes and the objects are not listed again; see "Snapshots" in the comment of the package. The
	// directory is created if it does not exist. Run writes the file after each list, at its end, and every five minutes
	// if there were changes. Run returns when the file is written.
	//
	// The file contains the objects as they are, readable for the user of the program only (mode 0600), and remains after
	// the program has ended. Use a directory that only this program can read and write, and that is not part of a backup.
	// Secrets are never written, apart from their metadata; other kinds with confidential content are.
	//
	// A file is ignored, reported to OnError of Watch and replaced if it is damaged, in another format, older than an
	// hour, or if it lacks fields that the stores need. Objects of less than 512 KiB are not written, because listing them
	// is faster. Run removes files in the directory that no reflector has written for a day, of watches that no program
	// has any more. Default: no snapshots.
	SnapshotDir string

	// SnapshotScope identifies the server and the namespace of the source. Sources of the same resource and selectors have
	// different files in SnapshotDir only if their scopes are different. Default: empty.
	SnapshotScope string
}

// Reflector keeps the objects of a source in packed form. [StoreOf] returns a store that reads them. Create a reflector
// with [New]. It is safe for concurrent use.
type Reflector struct {
	source watcher.Source
	watch  watcher.Options
	table  *table

	running sync.Mutex // held by Run
	listing bool       // a list has begun and is not complete; used by Run only
	scratch []byte     // the object of an event; used by Run only

	snapshots snapshots
	decoded   decodedObjects

	mu     sync.Mutex              // guards the fields below
	need   need                    // of all stores
	form   uint64                  // counts the changes of need; 0 before the first store
	forms  map[reflect.Type]uint64 // the first form that stores of a type can read
	change func()                  // ends the current watch, since need has changed; nil if none is running
	failed []error                 // of indexes, which are not reported yet
}

// New returns a reflector of the objects of a source. It is empty until [Reflector.Run] fills it.
func New(src watcher.Source, o *Options) *Reflector {
	if o == nil {
		o = &Options{}
	}
	r := &Reflector{source: src, watch: o.Watch, table: newTable(src.Resource())}
	r.snapshots.dir, r.snapshots.scope = o.SnapshotDir, o.SnapshotScope
	if o.Compression != nil {
		r.table.compression.create = o.Compression
	}
	if s, ok := src.(remoteSource); ok {
		s.attach(r.table)
	}
	return r
}

// add registers what a store needs, and returns the form of the objects that satisfies it. If a running watch does not,
// it is replaced: the objects are listed again.
func (r *Reflector) add(n need) (form uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.forms[n.types[0]]; known > 0 {
		return known
	}
	switch {
	case r.form == 0:
		r.need, r.forms = n, make(map[reflect.Type]uint64)
		r.form = 1
	case !r.need.covers(n):
		r.need = r.need.union(n)
		r.form++
		if r.change != nil {
			r.change()
		}
	}
	r.forms[n.types[0]] = r.form
	return r.form
}

// Health returns the error of the reflector's last request, or nil since the server has accepted a later one. The
// reflector recovers automatically; until then it keeps its objects.
func (r *Reflector) Health() error { return r.Status().Err }

// Status returns the state of the watch.
func (r *Reflector) Status() watcher.Status {
	t := r.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.status
}

// Reset discards all objects, so that a reflector that is not used needs no memory. The next Run lists them again. Reset
// does nothing and returns false if the reflector runs, or if something subscribes to its changes.
func (r *Reflector) Reset() bool {
	if !r.running.TryLock() {
		return false
	}
	defer r.running.Unlock()
	r.scratch = nil
	return r.table.reset()
}

var (
	errRunning = errors.New("reflector: Run was called while it was running") // a mistake of the caller
	errForm    = errors.New("another form of the objects is needed")          // ends a watch, which the next one replaces
)

// Run keeps the objects synced until ctx ends, and returns the cause. It returns another error if the request is invalid
// and can't be sent. The reflector then keeps its objects, and the next Run updates them: unchanged objects keep their
// entries, and subscribers receive the differences. Run must not be called while it is running.
func (r *Reflector) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return errRunning
	}
	defer r.running.Unlock()
	r.table.setFailed(nil)
	defer r.endSnapshots()
	defer r.table.endRun()
	resume := true
	for {
		err := r.runOnce(ctx, resume)
		if err == errForm {
			continue
		}
		if e, ok := errors.AsType[*errSnapshot](err); ok {
			r.report(fmt.Errorf("list %s: the snapshot is not used: %w", r.table.resource, e))
			resume = false
			continue
		}
		if ctx.Err() == nil {
			r.table.setFailed(err)
		}
		return err
	}
}

// runOnce watches until ctx ends, or until a store needs another form of the objects. If resume is true, it resumes
// from a snapshot if it can.
func (r *Reflector) runOnce(parent context.Context, resume bool) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	r.mu.Lock()
	need, form := r.need, r.form
	r.change = func() { cancel(errForm) }
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.change = nil
	}()
	config := r.watch
	config.OnError = r.report
	config.OmitManagedFields = true
	config.OnStatus = func(s watcher.Status) {
		r.table.setStatus(s)
		if r.watch.OnStatus != nil {
			r.watch.OnStatus(s)
		}
	}
	fields, src := need.fields(), need.source(r.source)
	var from *resumed // nil if the objects are listed
	if resume {
		if from = r.resume(need, src, cancel); from != nil {
			src, config.ResourceVersion = from, strconv.FormatUint(from.version, 10)
		}
	}
	for ev, err := range watcher.Events(ctx, src, &config) {
		if err != nil {
			return err
		}
		if from != nil && ev.Type == watcher.Init { // of a list, because the watch can't be resumed
			from.objects, from = nil, nil
		}
		if from == nil {
			if err := r.take(ev, fields, form); err != nil {
				r.report(err)
			}
			r.reportIndexes()
			r.note(ev.Type)
			r.table.compress()
			continue
		}
		if err := from.take(ev); err != nil {
			return err
		}
		if from.confirmed {
			err := r.adopt(from, fields, form)
			r.reportIndexes()
			if err != nil {
				return err
			}
			from = nil
		}
	}
	return nil // not reached: the sequence ends with an error
}

// report reports an error from which the reflector recovers.
func (r *Reflector) report(err error) {
	if r.watch.OnError != nil {
		r.watch.OnError(err)
		return
	}
	slog.Warn("reflector", slog.String("resource", r.table.resource.String()), slog.Any("err", err))
}

// reportIndexes reports the errors of indexes. The caller holds no lock, so that OnError may use stores.
func (r *Reflector) reportIndexes() {
	r.mu.Lock()
	failed := r.failed
	r.failed = nil
	r.mu.Unlock()
	for _, err := range failed {
		r.report(err)
	}
}

// take applies an event to the table. An error concerns only its object, which keeps its old state.
func (r *Reflector) take(ev watcher.Event, keep *wire.Projection, form uint64) error {
	t := r.table
	version := ev.Head.ResourceVersion
	if r.listing && ev.Type != watcher.InitDone {
		version = "" // the versions of a list are not in order
	}
	if t.compression.past != nil && ev.Type != watcher.InitDone && ev.Type != watcher.Bookmark {
		version = "" // its source sends bookmarks with the observed versions
	}
	switch ev.Type {
	case watcher.Init:
		r.listing = true
		t.beginList(form)
	case watcher.InitApply, watcher.Apply:
		return r.put(ev, version, keep, form)
	case watcher.InitDone:
		r.listing = false
		return t.endList(version, form)
	case watcher.Delete:
		t.drop(ev.Head.Ref, version)
	case watcher.Bookmark:
		t.see(version)
	}
	return nil
}

// put stores the object of an event, unless the table already has it.
func (r *Reflector) put(ev watcher.Event, version string, keep *wire.Projection, form uint64) error {
	data, err := ev.Object.AppendCompact(r.scratch[:0], keep)
	if err != nil {
		return fmt.Errorf("skip %s %s: %w", r.source.Resource(), ev.Head.Ref, err)
	}
	r.scratch = data
	return r.table.put(ev.Head, wire.NewPacked(ev.Object.Encoding(), data), version, form)
}
