// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/bench/internal/objects"
)

// Sent is the annotation with the time of a change, in nanoseconds since 1970.
const Sent = "bench.example.com/sent"

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	Collections []*Collection

	// Limit is the maximum number of objects of each collection. Default: all objects.
	Limit int

	// Lists rejects watches that request the existing objects, as API servers before Kubernetes 1.32 do.
	Lists bool

	// Pace is a pause after each 100 objects of a list or of the existing objects of a watch. Default: none.
	Pace time.Duration
}

// Server is an API server with fixed objects, which only [Server.Touch] changes. It is an [http.Handler], and safe for
// concurrent use.
type Server struct {
	collections map[string]*Collection // by the plural of the resource
	limit       int
	lists       bool
	pace        time.Duration

	mu      sync.Mutex // guards the fields below
	version int
	changed map[string]map[int]Object // by the plural and the number
	changes []change
	news    chan struct{} // closed at the next change
	watches map[string]int
}

// change is a change of an object.
type change struct {
	plural  string
	version int
	object  Object
}

// New returns a server.
func New(o *Options) *Server {
	s := &Server{
		collections: make(map[string]*Collection),
		limit:       o.Limit,
		lists:       o.Lists,
		pace:        o.Pace,
		version:     objects.LastResourceVersion,
		changed:     make(map[string]map[int]Object),
		news:        make(chan struct{}),
		watches:     make(map[string]int),
	}
	for _, c := range o.Collections {
		s.collections[c.resource.Plural] = c
	}
	return s
}

// Touch changes an object, which must be within the limit: it sets the annotation [Sent] to the current time.
func (s *Server) Touch(plural string, i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := s.collections[plural].object(i)
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string)
	}
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	annotations[Sent] = strconv.FormatInt(time.Now().UnixNano(), 10)
	obj.SetAnnotations(annotations)
	if s.changed[plural] == nil {
		s.changed[plural] = make(map[int]Object)
	}
	s.changed[plural][i] = obj
	s.changes = append(s.changes, change{plural, s.version, obj})
	close(s.news)
	s.news = make(chan struct{})
}

// Watches returns the number of watches of a resource that clients have opened.
func (s *Server) Watches(plural string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[plural]
}

// state returns the encoded objects of a collection, and their version.
func (s *Server) state(c *Collection, f form) (all [][]byte, version int, err error) {
	base, err := c.encoded(f)
	if err != nil {
		return nil, 0, err
	}
	if s.limit > 0 {
		base = base[:min(s.limit, len(base))]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed[c.resource.Plural]
	if len(changed) == 0 {
		return base, s.version, nil
	}
	all = append(all, base...)
	for i, obj := range changed {
		if all[i], err = f.encode(obj); err != nil {
			return nil, 0, err
		}
	}
	return all, s.version, nil
}

// after returns the changes after a version, and a channel that is closed at the next change.
func (s *Server) after(version int) ([]change, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.changes)
	for i > 0 && s.changes[i-1].version > version {
		i--
	}
	return s.changes[i:], s.news
}

// ServeHTTP serves lists and watches of the collections.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.collection(r)
	if err != nil {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, err)
		return
	}
	f, err := negotiate(r.Header.Get("Accept"))
	if err != nil {
		fail(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, err)
		return
	}
	q := r.URL.Query()
	if err := check(q); err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err)
		return
	}
	o := output{server: s, w: w, ctx: r.Context(), collection: c, form: f}
	switch {
	case q.Get("watch") == "true" || q.Get("watch") == "1":
		err = s.serveWatch(&o, q)
	default:
		err = s.serveList(&o, q)
	}
	if err != nil && o.buffer == nil {
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err)
	}
}

func (s *Server) collection(r *http.Request) (*Collection, error) {
	plural, ok := strings.CutPrefix(r.URL.Path, "/api/v1/")
	if c := s.collections[plural]; ok && r.Method == http.MethodGet && c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s %s: the server has only lists and watches of whole collections", r.Method, r.URL.Path)
}

// negotiate returns the first supported form of an Accept header.
func negotiate(accept string) (form, error) {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			return form{}, fmt.Errorf("accept %q: %w", accept, err)
		}
		f := form{protobuf: media == protobufType, metadata: params["as"] == "PartialObjectMetadata" ||
			params["as"] == "PartialObjectMetadataList"}
		if (f.protobuf || media == jsonType || media == "*/*") && (params["as"] == "" || f.metadata) {
			return f, nil
		}
	}
	return form{}, fmt.Errorf("accept %q: the server has JSON and protobuf", accept)
}

// check returns an error for parameters that the server does not support.
func check(q url.Values) error {
	for name := range q {
		switch name {
		case "labelSelector", "fieldSelector", "shardSelector":
			return fmt.Errorf("%s is not supported: select objects in the client", name)
		}
	}
	return nil
}

// fail sends a Status.
func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, err error) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{ // the client may have left
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: err.Error(),
	})
}

func (s *Server) serveList(o *output, q url.Values) error {
	all, version, err := s.state(o.collection, o.form)
	if err != nil {
		return err
	}
	start, limit := 0, len(all)
	if token := q.Get("continue"); token != "" {
		if start, err = strconv.Atoi(token); err != nil || start < 0 || start > len(all) {
			fail(o.w, http.StatusGone, metav1.StatusReasonExpired, fmt.Errorf("the continue token %q is unknown", token))
			return nil
		}
	}
	if n, _ := strconv.Atoi(q.Get("limit")); n > 0 {
		limit = n
	}
	end := min(start+limit, len(all))
	meta := listMeta{version: strconv.Itoa(version)}
	if end < len(all) {
		meta.token, meta.remaining = strconv.Itoa(end), len(all)-end
	}
	return o.list(meta, all[start:end])
}

// errTooOld is the message for a version whose changes the server does not have.
var errTooOld = errors.New("too old resource version")

func (s *Server) serveWatch(o *output, q url.Values) error {
	ctx := o.ctx
	if seconds, _ := strconv.Atoi(q.Get("timeoutSeconds")); seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	initial := q.Get("sendInitialEvents") == "true"
	if initial && s.lists {
		fail(o.w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			errors.New("sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"))
		return nil
	}
	s.mu.Lock()
	s.watches[o.collection.resource.Plural]++
	s.mu.Unlock()
	version, _ := strconv.Atoi(q.Get("resourceVersion"))
	if version == 0 || initial {
		all, now, err := s.state(o.collection, o.form)
		if err != nil {
			return err
		}
		version = now
		if err := o.initial(all, version, initial); err != nil {
			return err
		}
	} else if version < objects.LastResourceVersion {
		fail(o.w, http.StatusGone, metav1.StatusReasonExpired, errTooOld)
		return nil
	}
	return s.follow(ctx, o, version)
}

// follow sends the changes after a version until ctx ends.
func (s *Server) follow(ctx context.Context, o *output, version int) error {
	o.begin(true)
	for {
		if err := o.flush(); err != nil {
			return err
		}
		changes, news := s.after(version)
		for _, c := range changes {
			version = c.version
			if c.plural != o.collection.resource.Plural {
				continue
			}
			if err := o.change(c.object); err != nil {
				return err
			}
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}
