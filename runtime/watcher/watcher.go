// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Source is where the objects come from; a client's Feed is one. Its requests must end when their context does.
type Source interface {
	// Resource returns what the kind is called on the wire.
	Resource() core.Resource

	// List reads one page and calls each with one object after the other; an object's bytes live until each returns.
	// An error of each ends the reading.
	List(ctx context.Context, o *request.ListOptions, each func(wire.Packed) error) (metav1.ListMeta, error)

	// Watch yields the events of one watch; an event's bytes live until the next one is asked for. The sequence ends
	// without an error when the server ends the watch.
	Watch(ctx context.Context, o *request.WatchOptions) iter.Seq2[wire.Event, error]
}

// Config says what is watched, and how. The zero value of a field is its default.
type Config struct {
	LabelSelector string
	FieldSelector string

	// PageSize is how many objects a page of a list holds, when the server does not do streaming lists. Default 500.
	PageSize int64

	// Paged lists in pages from the start, without asking for a streaming list first. It is for servers that neither
	// do nor refuse streaming lists, which is otherwise noticed only after 20 seconds without an answer.
	Paged bool

	// Timeout is after how long the server is to end a watch, which is then opened again where it was; in whole
	// seconds. When nothing at all has come for 10 seconds longer, the connection is taken for dead.
	// Default: for each watch a random time from 5 to 10 minutes, so that many watches do not end together.
	Timeout time.Duration

	// OnError is told of each trouble that the watcher gets over by itself: failed requests, and objects that can't be
	// used. It is called by the loop that ranges over the sequence. Default: it is passed over.
	OnError func(error)
}

// EventType is what an [Event] tells.
type EventType uint8

// The types of events. Whenever the objects are listed, which is at the start and when the server does not know any
// more what has changed, there is one Init, then an InitApply for each object, then one InitDone. An Init before the
// InitDone means that the list has started over. What was there before and was not told of between an Init and its
// InitDone is gone.
const (
	Init      EventType = iota + 1 // a list begins
	InitApply                      // an object that is there
	InitDone                       // that was the list; the version is that of the list
	Apply                          // an object was created or changed
	Delete                         // an object was deleted; it may come within a list too
	Bookmark                       // nothing has changed up to this version
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

// Event is something that has happened to one object, or to the list.
type Event struct {
	Type EventType

	// Head is the identity and the version of Object; for InitDone and Bookmark there is only a version.
	Head wire.Head

	// Object is the object after the change, for Delete its last state. Its bytes live until the next event is asked for.
	// Init, InitDone and Bookmark have none.
	Object wire.Packed
}

// Events keeps up with the objects of a source, for ever: it lists them, watches them, and gets over whatever comes in
// between; see the package comment. Trouble goes to [Config.OnError]. The sequence ends with the cause of ctx when that
// ends, or with an error when the request can't be sent at all, such as a [*request.InvalidError]; there are no others.
// Ranging over it again starts from the beginning.
func Events(ctx context.Context, src Source, c *Config) iter.Seq2[Event, error] {
	config := c.withDefaults()
	return func(yield func(Event, error) bool) {
		d := &driver{src: src, config: config, yield: yield, state: state{paged: config.Paged}.list()}
		if err := d.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

func (c *Config) withDefaults() Config {
	var d Config
	if c != nil {
		d = *c
	}
	if d.PageSize <= 0 {
		d.PageSize = 500
	}
	if d.OnError == nil {
		d.OnError = func(error) {}
	}
	return d
}
