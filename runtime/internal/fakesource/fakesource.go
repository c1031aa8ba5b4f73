// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakesource is a collection of objects in memory that is listed and watched as an API server's is, and fails on
// demand. It is for the tests of this module; users test with an API server of their own.
package fakesource

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Streaming is what a server does about a request for a streaming list.
type Streaming uint8

// The ways that servers are known to have.
const (
	Supported Streaming = iota
	Rejected            // as servers do that know of it and have it switched off
	Ignored             // sends the objects without the bookmark at their end, as servers do that do not know of it
)

// Behaviour is how a server does what it does. The zero value is that of a server with neither faults nor bookmarks.
type Behaviour struct {
	Streaming Streaming

	// Bookmarks is how often a watch is told the newest version. Default: only at its end.
	Bookmarks time.Duration

	// OnList and OnWatch, when set, are called with each request; an error is the answer to it.
	OnList  func(*request.ListOptions) error
	OnWatch func(*request.WatchOptions) error

	// OnItem, when set, is called before each item of a list, which it may change or end by an error.
	OnItem func(wire.Packed) (wire.Packed, error)

	// DropOnCut ends the watches by Cut at once, without the changes that they were not told yet.
	DropOnCut bool
}

// Server is a collection of objects. It is safe for concurrent use.
type Server struct {
	kind     core.Resource
	encoding wire.Encoding

	mu        sync.Mutex // guards all below
	behaviour Behaviour
	version   uint64
	uids      uint64
	objects   map[core.ObjectRef]wire.Packed
	log       []change
	compacted uint64 // the newest version that is forgotten
	pages     map[string][]wire.Packed
	requests  []string
	open      int

	changed chan struct{} // closed with each change
	cut     chan struct{} // closed when all watches end
	cutErr  error
}

// change is an entry of the log.
type change struct {
	version uint64
	kind    core.EventType
	object  wire.Packed
}

// New returns an empty collection of a kind.
func New(kind core.Resource, encoding wire.Encoding) *Server {
	return &Server{
		kind:     kind,
		encoding: encoding,
		version:  1,
		objects:  make(map[core.ObjectRef]wire.Packed),
		pages:    make(map[string][]wire.Packed),
		changed:  make(chan struct{}),
		cut:      make(chan struct{}),
	}
}

// Behave sets how the server does what it does.
func (s *Server) Behave(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
}

func (s *Server) behaves() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behaviour
}

// Resource returns what the kind is called.
func (s *Server) Resource() core.Resource { return s.kind }

// Put creates or replaces an object, whose version, and UID if it is new, are set. It returns the version.
func (s *Server) Put(obj core.Object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref, kind := core.RefOf(obj), core.Added
	s.version++
	if old, ok := s.objects[ref]; ok {
		head, _ := old.Head()
		kind = core.Modified
		obj.SetUID(head.UID)
	} else {
		s.uids++
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	}
	obj.SetResourceVersion(format(s.version))
	packed := s.pack(obj)
	s.objects[ref] = packed
	s.record(kind, packed)
	return format(s.version)
}

// Delete removes an object if it is there. It returns the version.
func (s *Server) Delete(ref core.ObjectRef) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.objects[ref]
	if !ok {
		return format(s.version)
	}
	s.version++
	delete(s.objects, ref)
	last := new(metav1.PartialObjectMetadata)
	if meta, err := old.Metadata(); err == nil {
		last.ObjectMeta = *meta
	}
	last.ResourceVersion = format(s.version)
	s.record(core.Deleted, s.pack(last))
	return format(s.version)
}

// Tick raises the version, as changes of other kinds do.
func (s *Server) Tick() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	return format(s.version)
}

// Compact forgets all versions but the newest: new watches from others, and the tokens of pages, have expired. Watches
// that are open go on.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.compacted = s.version
	clear(s.pages)
}

// Cut ends all watches with an error, or in good order when it is nil.
func (s *Server) Cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutErr = err
	close(s.cut)
	s.cut = make(chan struct{})
}

// Requests returns the requests so far, such as "list limit=500" and "watch rv=7"; and forgets them.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// Open returns how many watches are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Objects returns the heads of all objects that are there, by reference.
func (s *Server) Objects() map[core.ObjectRef]wire.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	heads := make(map[core.ObjectRef]wire.Head, len(s.objects))
	for ref, object := range s.objects {
		heads[ref], _ = object.Head()
	}
	return heads
}

func (s *Server) pack(obj core.Object) wire.Packed {
	p, err := wire.Pack(obj, s.encoding)
	if err != nil {
		panic(err)
	}
	return p
}

func (s *Server) record(kind core.EventType, object wire.Packed) {
	s.log = append(s.log, change{s.version, kind, object})
	close(s.changed)
	s.changed = make(chan struct{})
}

// List sends one page, ordered by name.
func (s *Server) List(ctx context.Context, o *request.ListOptions, each func(wire.Packed) error) (metav1.ListMeta, error) {
	s.note("list", "limit", o.Limit, "continue", o.Continue, "rv", o.ResourceVersion)
	if hook := s.behaves().OnList; hook != nil {
		if err := hook(o); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	items, meta, err := s.page(o)
	if err != nil {
		return meta, err
	}
	for _, item := range items {
		if hook := s.behaves().OnItem; hook != nil {
			if item, err = hook(item); err != nil {
				return metav1.ListMeta{}, err
			}
		}
		if ctx.Err() != nil {
			return metav1.ListMeta{}, context.Cause(ctx)
		}
		if err := lend(item, each); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return meta, nil
}

// page returns the items of a page. A token is "the version of the list/what page it is of".
func (s *Server) page(o *request.ListOptions) ([]wire.Packed, metav1.ListMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := metav1.ListMeta{ResourceVersion: format(s.version)}
	items := s.sorted()
	if o.Continue != "" {
		var ok bool
		if items, ok = s.pages[o.Continue]; !ok {
			return nil, meta, Expired()
		}
		meta.ResourceVersion, _, _ = strings.Cut(o.Continue, "/")
	}
	if o.Limit > 0 && int64(len(items)) > o.Limit {
		meta.Continue = fmt.Sprintf("%s/%d", meta.ResourceVersion, len(s.pages)+1)
		s.pages[meta.Continue] = items[o.Limit:]
		items = items[:o.Limit]
	}
	return items, meta, nil
}

func (s *Server) sorted() []wire.Packed {
	refs := make([]core.ObjectRef, 0, len(s.objects))
	for ref := range s.objects {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b core.ObjectRef) int { return strings.Compare(a.String(), b.String()) })
	items := make([]wire.Packed, len(refs))
	for i, ref := range refs {
		items[i] = s.objects[ref]
	}
	return items
}

// Watch sends one watch.
func (s *Server) Watch(ctx context.Context, o *request.WatchOptions) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		if o.SendInitialEvents {
			s.note("stream", "rv", o.ResourceVersion)
		} else {
			s.note("watch", "rv", o.ResourceVersion)
		}
		s.count(1)
		defer s.count(-1)
		w, err := s.begin(o)
		if err == nil {
			err = w.run(ctx, yield)
		}
		if err != nil && err != errBreak {
			yield(wire.Event{}, err)
		}
	}
}

func (s *Server) begin(o *request.WatchOptions) (*watch, error) {
	if hook := s.behaves().OnWatch; hook != nil {
		if err := hook(o); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{server: s, timeout: o.Timeout, position: s.version, cut: s.cut}
	switch {
	case o.SendInitialEvents && s.behaviour.Streaming == Rejected:
		return nil, Status(422, metav1.StatusReasonInvalid)
	case o.SendInitialEvents:
		for _, object := range s.sorted() {
			w.initial = append(w.initial, change{s.version, core.Added, object})
		}
		if s.behaviour.Streaming == Supported {
			w.initial = append(w.initial, change{s.version, core.Bookmark, s.bookmark(s.version, true)})
		}
	default:
		from, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
		if err != nil {
			return nil, Status(400, metav1.StatusReasonBadRequest)
		}
		if from < s.compacted {
			return nil, Expired()
		}
		w.position = from
	}
	return w, nil
}

func (s *Server) bookmark(version uint64, start bool) wire.Packed {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: format(version)}}
	if start {
		obj.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return s.pack(obj)
}

func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
}

// note logs a request with those of its parameters that are set.
func (s *Server) note(verb string, params ...any) {
	for i := 0; i < len(params); i += 2 {
		if v := params[i+1]; v != "" && v != int64(0) {
			verb += fmt.Sprintf(" %s=%v", params[i], v)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, verb)
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }

// Status returns an answer of a server that is not a success.
func Status(code int32, reason metav1.StatusReason) *core.StatusError {
	return &core.StatusError{Status: metav1.Status{Code: code, Reason: reason}}
}

// Expired returns the answer of a server that has forgotten a version.
func Expired() *core.StatusError { return Status(410, metav1.StatusReasonExpired) }
