// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

const (
	// The timeout of a watch until the state is confirmed. API servers send a bookmark two seconds before the timeout of
	// a watch, and otherwise once a minute. With a shorter timeout they send none.
	confirmTimeout = 3 * time.Second

	// The number of such watches without a confirmation after which the objects are listed.
	mostConfirms = 3
)

// resumed is the source of a watch that resumes from a snapshot, and the state that the watch has reached. No reader
// has it before it is confirmed: it must be at least as new as a list of this run would be, and of the same cluster.
//
// So resumed lists one object when the server has accepted a watch. Such a list has the newest version, as all lists of
// a watcher. The state is confirmed when the watch has reached that version, which a bookmark or a later event shows,
// and if that object, and the number of objects, are as in the list. Another cluster at the same address has other
// UIDs. The version of a cluster that was restored from a backup may be lower than that of the snapshot. If it is
// higher, a watch can't detect the missing changes: the same happens to clients that were only disconnected.
type resumed struct {
	watcher.Source
	options *watcher.Options
	cancel  func(error)

	version   uint64 // of the objects
	objects   map[core.ObjectRef]wire.Packed
	confirmed bool

	watches int
	newest  uint64    // the version of the last list
	sample  wire.Head // the object in the list; its name is empty if the list is
	count   int64     // the number of objects in the list; -1 if unknown
}

// errSnapshot ends a watch that can't resume from the snapshot.
type errSnapshot struct{ detail string }

func (e *errSnapshot) Error() string { return e.detail }

// Watch is the Watch of the source. Until the state is confirmed, its timeout is short.
func (s *resumed) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	if o.SendInitialEvents {
		s.objects = nil // the watcher lists the objects
	}
	if s.objects == nil {
		return s.Source.Watch(ctx, o)
	}
	if s.watches == mostConfirms {
		return nil, s.reject("the server sends no bookmark before the end of a watch")
	}
	short := *o
	short.Timeout = min(o.Timeout, confirmTimeout)
	events, err := s.Source.Watch(ctx, &short)
	if err == nil {
		// Not before the watch: a server sends no bookmark of the version of the last change before the watch. The list of
		// a cached kind also makes the server learn of newer versions.
		err = s.list(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.watches++
	if s.newest > s.version {
		return events, nil
	}
	data := fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, s.newest)
	return func(yield func(wire.Event, error) bool) {
		if yield(wire.Event{Type: core.Bookmark, Object: wire.NewPacked(wire.JSON, data)}, nil) {
			events(yield)
		}
	}, nil
}

// reject ends the watch, so that the objects are listed.
func (s *resumed) reject(detail string) error {
	err := &errSnapshot{detail}
	s.cancel(err)
	return err
}

// list lists one object, and records the version, the object and the number of objects.
func (s *resumed) list(ctx context.Context) error {
	var sample wire.Head
	var sent int64 // more than one if the server ignores the limit
	meta, err := s.Source.List(ctx, &request.ListOptions{
		LabelSelector:     s.options.LabelSelector,
		FieldSelector:     s.options.FieldSelector,
		ShardSelector:     s.options.ShardSelector,
		Limit:             1,
		OmitManagedFields: true,
	}, func(p wire.Packed) (err error) {
		sent++
		sample, err = p.Head()
		return err
	})
	if err != nil {
		return err
	}
	newest, err := strconv.ParseUint(meta.ResourceVersion, 10, 64)
	if err != nil || newest < s.version {
		return s.reject(fmt.Sprintf("the server has version %q, which is not newer than %d", meta.ResourceVersion, s.version))
	}
	s.newest, s.sample, s.count = newest, sample, countOf(meta, sent)
	return nil
}

// countOf returns the number of objects of a list from its first page, or -1 if the server did not send it.
func countOf(meta metav1.ListMeta, sent int64) int64 {
	switch {
	case meta.Continue == "":
		return sent
	case meta.RemainingItemCount != nil:
		return sent + *meta.RemainingItemCount
	}
	return -1
}

// take applies an event. It returns an error if the state can't be that of the server.
func (s *resumed) take(ev watcher.Event) error {
	version, err := strconv.ParseUint(ev.Head.ResourceVersion, 10, 64)
	if err != nil {
		return &errSnapshot{fmt.Sprintf("the server has sent version %q, which is not a number", ev.Head.ResourceVersion)}
	}
	if version > s.newest {
		if err := s.confirm(); err != nil {
			return err
		}
	}
	switch ev.Type {
	case watcher.Apply:
		if err := s.apply(ev); err != nil {
			return err
		}
	case watcher.Delete:
		delete(s.objects, ev.Head.Ref)
	default: // a bookmark
	}
	s.version = max(s.version, version)
	if version == s.newest {
		return s.confirm()
	}
	return nil
}

func (s *resumed) apply(ev watcher.Event) error {
	if old, ok := s.objects[ev.Head.Ref]; ok {
		if head, err := old.Head(); err != nil || head.UID != ev.Head.UID {
			return &errSnapshot{fmt.Sprintf("%s has another UID, but was not deleted: it is of another cluster", ev.Head.Ref)}
		}
	}
	object, err := ev.Object.Compact()
	if err != nil {
		return &errSnapshot{fmt.Sprintf("%s: %v", ev.Head.Ref, err)}
	}
	s.objects[ev.Head.Ref] = object
	return nil
}

// confirm checks the state at the version of the list.
func (s *resumed) confirm() error {
	if s.count >= 0 && int64(len(s.objects)) != s.count {
		return &errSnapshot{fmt.Sprintf("it has %d objects, but the server has %d", len(s.objects), s.count)}
	}
	if s.sample.Ref.Name != "" {
		head, err := s.objects[s.sample.Ref].Head()
		if err != nil || head.UID != s.sample.UID || head.ResourceVersion != s.sample.ResourceVersion {
			return &errSnapshot{fmt.Sprintf("%s is not as on the server", s.sample.Ref)}
		}
	}
	s.confirmed = true
	return nil
}
