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

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Watch says which objects to watch, and how. A reflector needs all objects, so ResourceVersion is an error.
	Watch watcher.Options

	// Invalid is the reason why the objects can't be watched, such as an invalid selector, if this is known in advance.
	// Run and the stores return it without a request. Default: nil.
	Invalid error

	// Compression makes a codec that compresses the objects in memory, from samples of them. It is called when there are
	// enough objects. Default: a fast codec that replaces text that many objects have, and halves the memory.
	Compression func(samples [][]byte) (Codec, error)

	// Namespace is the namespace of the source's objects, if they are all in one: reading another one is an error then.
	// Default: the objects may be in any namespace.
	Namespace string

	// SnapshotDir is a directory in which [Reflector.Run] keeps a file with all objects, so that after a restart of the
	// program the watch resumes and the objects are not listed again, see [Reflector]. The directory is created if it does
	// not exist. Run writes the file after each list, at its end, and with the first bookmark after five minutes if there
	// were changes, or after half an hour. Servers send a bookmark once a minute; without bookmarks, the file is written
	// after lists and at the end only. Run returns when the file is written.
	//
	// The file contains the objects as they are, readable for the user of the program only (mode 0600), and remains after
	// the program has ended. Use a directory that only this program can read and write, and that is not part of a backup.
	// Secrets are never written, not even their metadata, in which the annotation of kubectl apply has the data. Other
	// kinds with confidential content are.
	//
	// A file is ignored, reported to OnError of Watch and replaced if it is damaged, in another format, if its objects are
	// those of more than an hour ago, or if it lacks fields that the stores need. Objects of less than 512 KiB are not
	// written, because listing them is faster. Run removes snapshot files in the directory that no reflector has written
	// for a day. It is an error if Watch has a Window, whose objects may be others in the next process. Default: no
	// snapshots.
	SnapshotDir string

	// SnapshotScope identifies the server and the namespace of the source. Sources of the same resource and selectors have
	// different files in SnapshotDir only if their scopes are different. Default: empty.
	SnapshotScope string
}

// Reflector keeps the objects of a source in packed form. [StoreOf] returns a store that reads them. Create a reflector
// with [New]. It is safe for concurrent use.
//
// # Snapshots
//
// With [Options.SnapshotDir], a reflector writes its objects to a file, so that a program that restarts within minutes
// resumes its watch instead of listing all objects. The load of the server is then that of the changes.
//
// The file changes nothing for readers: from the start of Run, no object is older than in a list that is requested
// after the start. The reflector resumes the watch at the version of the file, then lists one object, and nothing of
// the file is visible before the watch has reached the version of that list. Then the store becomes ready, and
// subscribers receive all objects, like after a list. This takes one or two seconds, or less if the objects change. The
// objects are listed if the server no longer has the changes since the file was written, or does not confirm the
// version within 9 seconds; if an object has a different UID or version than in the file and the changes, such as in a
// new cluster at the same address; or if the version of the server is lower than that of the file. If a backup of etcd
// is restored and reaches the version of the file while the program is down, without the increased revisions that
// Kubernetes recommends for a restore, changes may be missing until the next list. The same happens to every client
// whose watch is interrupted meanwhile.
type Reflector struct {
	source  watcher.Source
	watch   watcher.Options
	invalid error // see Options.Invalid
	table   *table

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
	failed failures                // of indexes
}

// New returns a reflector of the objects of a source. It is empty until [Reflector.Run] fills it.
func New(src watcher.Source, o *Options) *Reflector {
	if o == nil {
		o = &Options{}
	}
	r := &Reflector{source: src, watch: o.Watch, invalid: o.Invalid, table: newTable(src.Resource())}
	switch {
	case o.Watch.ResourceVersion != "":
		r.invalid = errVersion
	case o.Watch.Window != nil && o.SnapshotDir != "":
		r.invalid = errWindow
	}
	if r.invalid != nil {
		r.table.setFailed(r.invalid)
	}
	r.table.namespace = o.Namespace
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
	if r.form == 0 || !r.need.covers(n) {
		if r.form == 0 {
			r.need, r.forms = n, make(map[reflect.Type]uint64)
		} else {
			r.need = r.need.union(n)
		}
		r.form++
		if r.change != nil {
			r.change()
		}
	}
	r.forms[n.types[0]] = r.form
	return r.form
}

// Health returns the error of the last request of the current Run, or nil once the server has accepted a later one. The
// reflector recovers automatically; until then it keeps its objects. After a Run that has failed permanently, Health
// returns its error until the next Run, and after other Runs nil.
func (r *Reflector) Health() error { return r.Status().Err }

// Status returns the state of the watch. Its Lists are those of all calls of Run.
func (r *Reflector) Status() watcher.Status {
	t := r.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.status
}

// Reset discards all objects, so that a reflector that is not used needs no memory. The next Run lists them again.
// Reset does nothing and returns false if the reflector runs, or if something subscribes to its changes.
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

	errVersion = &request.InvalidError{
		Field:  "reflector.Options.Watch.ResourceVersion",
		Detail: "is set, but the objects of that version are not known: leave it empty; SnapshotDir resumes watches",
	}
	errWindow = &request.InvalidError{
		Field:  "reflector.Options.SnapshotDir",
		Detail: "is set together with Watch.Window, but the next process may watch other objects: leave it empty",
	}
)

// Run keeps the objects synced until ctx ends, and returns the cause. It returns another error if the request is
// invalid and can't be sent. The reflector then keeps its objects, and the next Run updates them: subscribers receive
// only the differences. It returns an error immediately if the reflector is already running.
//
// When the reflector lists the objects again, it updates them one by one. Unchanged objects keep their entries. The
// same version with other content is a change: after a restore of etcd, servers assign the same versions again. Objects
// that are missing from the list are removed at its end, and subscribers receive each deletion. Until then, readers see
// the old objects. An object that was replaced by another one with the same name is one change, whose Old and New have
// different UIDs.
func (r *Reflector) Run(ctx context.Context) error {
	if r.invalid != nil {
		return r.invalid
	}
	if !r.running.TryLock() {
		return errRunning
	}
	defer r.running.Unlock()
	r.table.beginRun()
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
	lists := r.Status().Lists // of earlier watches
	config.OnStatus = func(s watcher.Status) {
		s.Lists += lists
		r.table.setStatus(s)
		if s.Phase == watcher.Watching { // a server without bookmarks may send no events for long
			r.snapshots.current = s.LastData
		}
		if r.watch.OnStatus != nil {
			r.watch.OnStatus(s)
		}
	}
	defer r.reportIndexes() // those of an incomplete list
	fields, src := need.fields(), need.source(r.source)
	if r.table.compression.past != nil && !need.metadata {
		r.table.setIncoming(nil) // a reader reads the whole object from the host
	} else {
		r.table.setIncoming(fields)
	}
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
			if ev.Type != watcher.InitApply { // the errors of a list are reported at its end
				r.reportIndexes()
			}
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
	r.failed = failures{}
	r.mu.Unlock()
	for _, err := range failed.first {
		r.report(err)
	}
	if failed.others > 0 {
		r.report(fmt.Errorf("indexes and decoded stores of %s: and %d other errors", r.table.resource, failed.others))
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
		r.table.spare(ev.Head.Ref)
		return fmt.Errorf("skip %s %s: %w", r.source.Resource(), ev.Head.Ref, err)
	}
	r.scratch = data
	return r.table.put(ev.Head, wire.NewPacked(ev.Object.Encoding(), data), version, form, ev.Merged)
}
