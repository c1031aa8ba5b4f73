// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakesource is an in-memory collection of objects that is listed and watched like that of an API server, and
// fails on demand. It is only for the tests of this module.
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

// Streaming is a server's response to the request for a streaming list.
type Streaming uint8

// The known responses of servers.
const (
	Supported Streaming = iota
	Rejected            // an error, as from servers that have the feature disabled
	Ignored             // the objects without a bookmark at their end, as from servers without the feature
)

// Behaviour configures a server. The zero value has neither faults nor bookmarks.
type Behaviour struct {
	Streaming Streaming

	// Pace is the time before each object of a streaming list, and EndAfter the time before its end, during which the
	// server sends changes already.
	Pace, EndAfter time.Duration

	// Bookmarks is the interval at which a watch sends the newest version. Default: only at its end.
	Bookmarks time.Duration

	// OnList and OnWatch, if set, are called for each request before its response. If they return an error, it is the
	// response.
	OnList  func(*request.ListOptions) error
	OnWatch func(*request.WatchOptions) error

	// OnItem, if set, is called for each item of a list. It may change the item, or end the list with an error.
	OnItem func(wire.Packed) (wire.Packed, error)

	// DropOnCut makes Cut end the watches immediately, without the changes that they have not sent yet.
	DropOnCut bool
}

// Server is a collection of objects. It is safe for concurrent use.
type Server struct {
	kind     core.Resource
	encoding wire.Encoding

	mu        sync.Mutex // guards the fields below
	behaviour Behaviour
	version   uint64
	uids      uint64
	spread    bool
	objects   map[core.ObjectRef]wire.Packed
	log       []change
	compacted uint64 // the newest version that has expired
	pages     map[string][]wire.Packed
	requests  []string
	open      int

	changed chan struct{} // closed by the next change
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

// Behave configures the server.
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

// Resource returns the resource of the kind.
func (s *Server) Resource() core.Resource { return s.kind }

// SpreadUIDs makes later UIDs as different as those of real servers, so that they are in different shards.
func (s *Server) SpreadUIDs() { s.spread = true }

// Put creates or replaces an object. It sets the object's version, and its UID if it is new. It returns the version.
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
		if s.spread {
			obj.SetUID(types.UID(fmt.Sprintf("%016x-uid", s.uids*0x9e3779b97f4a7c15)))
		}
	}
	obj.SetResourceVersion(format(s.version))
	packed := s.pack(obj)
	s.objects[ref] = packed
	s.record(kind, packed)
	return format(s.version)
}

// Delete removes an object if it exists. It returns the new version.
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

// Tick increases the version, like changes of other kinds do.
func (s *Server) Tick() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	return format(s.version)
}

// Compact discards all versions but the newest: new watches from older versions, and the tokens of pages, have expired.
// Open watches continue.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.compacted = s.version
	clear(s.pages)
}

// Cut ends all watches with an error, or normally if err is nil.
func (s *Server) Cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutErr = err
	close(s.cut)
	s.cut = make(chan struct{})
}

// Requests returns and clears the log of requests, such as "list limit=500" and "watch rv=7".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// Open returns the number of open watches.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Objects returns the heads of all objects by reference.
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
func (s *Server) List(
	ctx context.Context,
	o *request.ListOptions,
	each func(wire.Packed) error,
) (metav1.ListMeta, error) {
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

// page returns the items of a page. A token is "the version of the list/the number of the page".
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

// Watch sends one watch. It returns when OnWatch has returned.
func (s *Server) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	if o.SendInitialEvents {
		s.note("stream", "rv", o.ResourceVersion)
	} else {
		s.note("watch", "rv", o.ResourceVersion)
	}
	s.count(1)
	closed := sync.OnceFunc(func() { s.count(-1) })
	w, err := s.begin(o)
	if err != nil {
		closed()
		return nil, err
	}
	context.AfterFunc(ctx, closed) // if the sequence is not ranged over
	return func(yield func(wire.Event, error) bool) {
		defer closed()
		if err := w.run(ctx, yield); err != nil && err != errBreak {
			yield(wire.Event{}, err)
		}
	}, nil
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
		switch after := s.behaviour.EndAfter; {
		case s.behaviour.Streaming != Supported:
		case after > 0:
			w.end = time.After(after)
		default:
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

// note logs a request with the parameters that are set.
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

// Status returns an error response of a server.
func Status(code int32, reason metav1.StatusReason) *core.StatusError {
	return &core.StatusError{Status: metav1.Status{Code: code, Reason: reason}}
}

// Expired returns the response of a server that has discarded a version.
func Expired() *core.StatusError { return Status(410, metav1.StatusReasonExpired) }
