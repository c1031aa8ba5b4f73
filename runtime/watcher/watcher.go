// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Source provides the objects; a client's Feed is a Source. Its requests must end when their context ends.
type Source interface {
	// Resource returns the resource of the kind.
	Resource() core.Resource

	// List reads one page and calls each for every object. The bytes of an object are valid until each returns. If each
	// returns an error, List stops reading.
	List(ctx context.Context, o *request.ListOptions, each func(wire.Packed) error) (metav1.ListMeta, error)

	// Watch sends a watch request, and returns its events as soon as the server has accepted it, without waiting for an
	// event. The bytes of an event are valid until the next event is requested. The sequence ends without an error when
	// the server ends the watch. The watch ends with ctx, even if the sequence is not ranged over.
	Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error)
}

// Options are the options of [Events]. The zero value of a field is its default.
type Options struct {
	// LabelSelector and FieldSelector select the objects, such as "app=web" and "spec.nodeName=node-1", see
	// [request.ListOptions]. Default: all objects.
	LabelSelector string
	FieldSelector string

	// ShardSelector selects a subset of the objects, so that several programs can share the work, see
	// [request.ListOptions]. A client's feed returns an error for a server that does not support it; the watcher reports
	// the error, and retries until the server does. Default: all objects.
	ShardSelector string

	// Window, if it is set, selects a shard that may change at any time. The watcher then lists the objects again.
	// Objects of other shards occur in no event. If the server does not select by shard, the watcher reports it once,
	// requests all objects and drops the others. It tries again with a list after one to two hours, or after a connection
	// has failed. ShardSelector and ResourceVersion must be empty. Default: nil, which selects all objects.
	Window *Window

	// OmitManagedFields asks the server to omit metadata.managedFields, see [request.ListOptions]. Servers that do not
	// support it send them. Set it if the consumer does not use them. Default: false.
	OmitManagedFields bool

	// ResourceVersion is the version of a complete state that the consumer has already, for example from a file. The
	// sequence of [Events] then starts with the changes after it, without a list: it sends no Init, and the first event
	// may be a Delete. If the server no longer has the version, it starts with a list. The version must be of the same
	// cluster and the same selectors: a server does not detect that it has never sent it, for example after its database
	// was restored from an older backup. Default: start with a list.
	ResourceVersion string

	// PageSize is the number of objects on a page of a list, when the server does not support streaming lists. Default:
	// 500.
	PageSize int64

	// Paged requests pages, without trying a streaming list. Set it for servers that ignore the request for a streaming
	// list, which is otherwise detected only after 20 seconds or more. Default: false.
	Paged bool

	// Server remembers which APIs of the server do not support streaming lists. Set the same for all watchers of a
	// server. Default: one that only this sequence uses.
	Server *Server

	// Timeout is the time after which the server ends a watch, in whole seconds. The watcher then resumes it. When no
	// data has arrived by 10 seconds after that, or for four minutes although the server sends bookmarks regularly, the
	// connection is considered dead. Default: a random time from 5 to 10 minutes for each watch, so that many watches do
	// not end at the same time.
	Timeout time.Duration

	// OnError receives each error from which the watcher recovers automatically: failed requests, and objects that
	// can't be used. It is called by the loop that ranges over the sequence. Default: the error is logged as a warning to
	// [slog.Default].
	OnError func(error)

	// OnStatus receives the status of the sequence when its phase, Lists, Err or Failures change. While data arrives, it
	// is also called every 10 seconds, so that LastData and ResourceVersion are not older than that. It is called by the
	// loop that ranges over the sequence, after the consumer has received the events that the status includes, and
	// before OnError. It is not called when the sequence ends. Default: none.
	OnStatus func(Status)
}

// EventType is the type of an [Event].
type EventType uint8

// The types of events. The objects are listed at the start, unless Options.ResourceVersion is set, and when the server
// no longer has the changes since the last version. Each list is an Init, an InitApply for each object, and an
// InitDone. Another Init before the InitDone means that the list has started again. An object that existed before, and
// that occurs in no event between Init and InitDone, no longer exists.
const (
	Init      EventType = iota + 1 // a list begins
	InitApply                      // an existing object
	InitDone                       // the list is complete; the version is that of the list
	Apply                          // an object was created or changed
	Delete                         // an object was deleted; it may also occur within a list
	Bookmark                       // there are no other changes up to this version
)

// String returns the type's name.
func (t EventType) String() string {
	switch t {
	case Init:
		return "Init"
	case InitApply:
		return "InitApply"
	case InitDone:
		return "InitDone"
	case Apply:
		return "Apply"
	case Delete:
		return "Delete"
	case Bookmark:
		return "Bookmark"
	}
	return fmt.Sprintf("EventType(%d)", uint8(t))
}

// Event is an event of one object, or of the list.
type Event struct {
	Type EventType

	// Head is the identity and the version of Object. For InitDone and Bookmark, it has only a version.
	Head wire.Head

	// Object is the object after the change, or its last state for Delete. Its bytes are valid until the next event is
	// requested. Init, InitDone and Bookmark have no object.
	Object wire.Packed

	// Merged is true for an Apply that stands for several changes, the states between which were not received. Servers
	// send each change; the host of a WebAssembly module merges those that wait for the module.
	Merged bool
}

// Events lists and watches the objects of a source, and recovers from interruptions; see the package comment.
// [Options.OnError] receives errors from which it recovers. The sequence ends with the cause of ctx, or with an error
// such as a [*request.InvalidError] if the request can't be sent at all; it has no other errors. Ranging over it again
// starts from the beginning, which is Options.ResourceVersion if that is set.
//
// A consumer that applies the events of Init, InitApply, …, InitDone as a list that replaces its state, and Apply and
// Delete as changes of it, has the state of the server at the version of the last InitDone, Apply, Delete or Bookmark.
// If it stores that state and the version, it can continue from there later.
//
// # Guarantees
//
// FuzzStepKeepsItsLaws checks that, whatever the server does:
//
//   - A list is an Init, its objects, and an InitDone. A list that is interrupted starts again with another Init.
//   - Changes follow only a complete state: that of a list, or of Options.ResourceVersion.
//   - A watch starts at the version of the list or of Options.ResourceVersion, or at the newest one that the server has
//     sent since. With a [Window], it may be that of an object of another shard, which the consumer does not receive.
//   - Each failed request is reported, except the first one that rejects a streaming list.
//   - The watcher sends at most 90 requests per minute, apart from further pages of a list and the lists of a [Window]
//     that changes.
func Events(ctx context.Context, src Source, o *Options) iter.Seq2[Event, error] {
	opts := o.withDefaults(src.Resource())
	if s, ok := src.(sequence); ok {
		return s.Events(ctx, &opts)
	}
	return func(yield func(Event, error) bool) {
		if opts.ResourceVersion == "0" {
			yield(Event{}, errVersion)
			return
		}
		if err := opts.check("watcher.Options"); err != nil {
			yield(Event{}, err)
			return
		}
		if w := opts.Window; w != nil && (w.Source() == nil || opts.ShardSelector+opts.ResourceVersion != "") {
			yield(Event{}, errWindow)
			return
		}
		var start state
		if opts.ResourceVersion != "" {
			start = resumed(opts.ResourceVersion)
		}
		d := &driver{src: src, opts: opts, yield: yield, state: start}
		d.fields, d.selector = opts.FieldSelector, opts.ShardSelector
		d.status.ResourceVersion = start.rv
		if err := d.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

var errWindow = &request.InvalidError{Field: "watcher.Options.Window", Detail: "needs shards, and no ShardSelector and " +
	"no ResourceVersion; to run a view with Selection.Sharded, add its controller to a manager with Options.Sharding"}

var errVersion = &request.InvalidError{
	Field:  "watcher.Options.ResourceVersion",
	Detail: "0 means any version, not a state that can be resumed; leave it empty to list",
}

// check validates the options that Options and WatchOptions share. Typ is the name of the type in the error.
func (o *Options) check(typ string) error {
	const negative = "is negative; leave it zero for the default"
	switch {
	case o.PageSize < 0:
		return &request.InvalidError{Field: typ + ".PageSize", Detail: negative}
	case o.Timeout < 0:
		return &request.InvalidError{Field: typ + ".Timeout", Detail: negative}
	}
	return nil
}

func (o *Options) withDefaults(res core.Resource) Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.PageSize == 0 {
		d.PageSize = 500
	}
	if d.Server == nil {
		d.Server = new(Server)
	}
	if d.OnError == nil {
		d.OnError = func(err error) {
			slog.Warn("watch error", slog.String("resource", res.String()), slog.Any("err", err))
		}
	}
	return d
}
