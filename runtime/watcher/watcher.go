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

	// Watch yields the events of one watch. The bytes of an event are valid until the next event is requested. The
	// sequence ends without an error when the server ends the watch.
	Watch(ctx context.Context, o *request.WatchOptions) iter.Seq2[wire.Event, error]
}

// Options are the options of [Watch] and [Events]. The zero value of a field is its default.
type Options struct {
	LabelSelector string
	FieldSelector string

	// PageSize is the number of objects on a page of a list, when the server does not support streaming lists. Default:
	// 500.
	PageSize int64

	// Paged requests pages from the start, without trying a streaming list. Set it for servers that ignore the request
	// for a streaming list, which is otherwise detected only after 20 seconds without data.
	Paged bool

	// Timeout is the time after which the server ends a watch, in whole seconds. The watcher then resumes it. When no
	// data has arrived by 10 seconds after that, the connection is considered dead. Default: a random time from 5 to 10
	// minutes for each watch, so that many watches do not end at the same time.
	Timeout time.Duration

	// OnError receives each error from which the watcher recovers automatically: failed requests, and objects that
	// can't be used. It is called by the loop that ranges over the sequence. Default: the error is logged as a warning to
	// [slog.Default].
	OnError func(error)
}

// EventType is the type of an [Event].
type EventType uint8

// The types of events. The objects are listed at the start, and when the server no longer has the changes since the
// last version. Each list is an Init, an InitApply for each object, and an InitDone. Another Init before the InitDone
// means that the list has started again. An object that existed before, and that occurs in no event between Init and
// InitDone, no longer exists.
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
}

// Events lists and watches the objects of a source, and recovers from interruptions; see the package comment.
// [Options.OnError] receives errors from which it recovers. The sequence ends with the cause of ctx, or with an error
// such as a [*request.InvalidError] if the request can't be sent at all; it has no other errors. Ranging over it again
// starts from the beginning.
func Events(ctx context.Context, src Source, o *Options) iter.Seq2[Event, error] {
	opts := o.withDefaults(src.Resource())
	return func(yield func(Event, error) bool) {
		d := &driver{src: src, opts: opts, yield: yield, state: state{paged: opts.Paged}.list()}
		if err := d.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

func (o *Options) withDefaults(res core.Resource) Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.PageSize <= 0 {
		d.PageSize = 500
	}
	if d.OnError == nil {
		d.OnError = func(err error) {
			slog.Warn("retrying after a failure", slog.String("resource", res.String()), slog.Any("err", err))
		}
	}
	return d
}
