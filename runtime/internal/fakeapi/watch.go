// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

func listOptions(r *http.Request) *request.ListOptions {
	q := r.URL.Query()
	limit, _ := strconv.ParseInt(q.Get("limit"), 10, 64)
	return &request.ListOptions{Limit: limit, Continue: q.Get("continue"), ResourceVersion: q.Get("resourceVersion")}
}

func watchOptions(r *http.Request) *request.WatchOptions {
	q := r.URL.Query()
	seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
	return &request.WatchOptions{
		ResourceVersion:   q.Get("resourceVersion"),
		Timeout:           time.Duration(seconds) * time.Second,
		SendInitialEvents: q.Get("sendInitialEvents") == "true",
	}
}

// selection returns a function that reports whether a request selects an object, by namespace and labels.
func selection(r *http.Request, t target) (func(wire.Packed) bool, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, fakesource.Status(400, metav1.StatusReasonBadRequest)
	}
	return func(p wire.Packed) bool {
		meta, err := p.Metadata()
		if err != nil {
			return false
		}
		return (t.ref.Namespace == "" || t.ref.Namespace == meta.Namespace) && selector.Matches(labels.Set(meta.Labels))
	}, nil
}

// watch responds to a request for a watch.
func (s *Server) watch(r *http.Request, t target) (*http.Response, error) {
	selected, err := selection(r, t)
	if err != nil {
		return answer(nil, err)
	}
	events, err := t.Watch(r.Context(), watchOptions(r))
	if err != nil {
		return answer(nil, err)
	}
	next, stop := iter.Pull2(events)
	return response(http.StatusOK, &stream{
		next: next,
		stop: func() {
			<-time.After(time.Duration(s.end.Load()))
			stop()
		},
		selected: selected,
		view:     viewOf(r),
		told:     make(map[core.ObjectRef]bool),
		pause: func() {
			if lag := time.Duration(s.lag.Load()); lag > 0 {
				select {
				case <-time.After(lag):
				case <-r.Context().Done():
				}
			}
		},
	}), nil
}

// stream is the body of a watch. It creates each event when it is read.
type stream struct {
	next     func() (wire.Event, error, bool)
	stop     func()
	selected func(wire.Packed) bool
	view     func([]byte) json.RawMessage
	told     map[core.ObjectRef]bool // the selected objects that were sent
	pause    func()
	rest     bytes.Buffer
}

// Close ends the watch. It is called by the reader.
func (s *stream) Close() error {
	s.stop()
	return nil
}

func (s *stream) Read(p []byte) (int, error) {
	for s.rest.Len() == 0 {
		ev, err, ok := s.next()
		switch {
		case !ok:
			return 0, io.EOF
		case err != nil:
			status, ok := errors.AsType[*core.StatusError](err)
			if !ok {
				return 0, err
			}
			s.write("ERROR", statusObject(status))
		default:
			s.event(ev)
		}
	}
	return s.rest.Read(p)
}

func (s *stream) event(ev wire.Event) {
	object := s.view(ev.Object.Bytes()) // a copy, because the bytes are not valid after the pause
	if ev.Type == core.Bookmark {
		s.write(ev.Type, object)
		return
	}
	head, err := ev.Object.Head()
	if err != nil {
		panic(err)
	}
	told := s.told[head.Ref]
	switch selected := ev.Type != core.Deleted && s.selected(ev.Object); {
	case selected:
		s.told[head.Ref] = true
	case told || ev.Type == core.Deleted && s.selected(ev.Object):
		ev.Type = core.Deleted // for this watch
		delete(s.told, head.Ref)
	default:
		return
	}
	s.pause()
	s.write(ev.Type, object)
}

func (s *stream) write(kind core.EventType, object any) {
	line, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		panic(err)
	}
	s.rest.Write(append(line, '\n'))
}
