// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stream is a watch that runs beside the steps of a case.
type stream struct {
	events <-chan watchEvent // closed at the end
	cancel context.CancelFunc
}

// watchEvent is one event as it was sent.
type watchEvent struct {
	Type   string
	Object json.RawMessage
}

// stop ends the watch and waits until it has ended.
func (w *stream) stop() {
	w.cancel()
	for range w.events {
	}
}

// watch begins a watch.
func (s *session) watch(st *step) []string {
	s.t.Helper()
	_, header := s.method(st)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context())) // clean ends it
	resp := s.open(ctx, http.MethodGet, s.url(st.args[1]), header, nil)
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.render(st, reply{code: resp.StatusCode, header: resp.Header, body: data})
	}
	events := make(chan watchEvent, 100)
	if s.watches == nil {
		s.watches = map[string]*stream{}
	}
	if w := s.watches[st.args[0]]; w != nil {
		w.stop()
	}
	s.watches[st.args[0]] = &stream{events: events, cancel: cancel}
	go decode(resp.Body, events)
	return []string{"-> 200"}
}

// decode sends the events of a response to a channel. It omits bookmarks that do not end the initial events, since servers
// may send them at any time.
func decode(body io.ReadCloser, events chan<- watchEvent) {
	defer close(events)
	defer body.Close()
	for d := json.NewDecoder(body); ; {
		var e watchEvent
		if d.Decode(&e) != nil {
			return
		}
		if e.Type == "BOOKMARK" && !bytes.Contains(e.Object, []byte(metav1.InitialEventsAnnotationKey)) {
			continue
		}
		events <- e
	}
}

// await waits for events of a watch, or for its end.
func (s *session) await(st *step) []string {
	s.t.Helper()
	w := s.watches[st.args[0]]
	if w == nil {
		s.t.Fatalf("%s:%d: the watch %s does not run", s.path, st.line, st.args[0])
	}
	count := 1
	if st.verb == "EVENTS" {
		var err error
		if count, err = strconv.Atoi(st.args[1]); err != nil {
			s.t.Fatalf("%s:%d: %v", s.path, st.line, err)
		}
	}
	lines := []string{"-> events"}
	for timeout := time.After(s.mode.patience); count > 0; count-- {
		select {
		case e, ok := <-w.events:
			if !ok {
				return append(lines, "END")
			}
			lines = append(lines, s.event(st, e)...)
		case <-timeout:
			s.t.Fatalf("%s:%d: no event within %v after %q", s.path, st.line, s.mode.patience, lines)
		}
	}
	return lines
}

// event returns the lines of an event.
func (s *session) event(st *step, e watchEvent) []string {
	r := s.renderer(st)
	if e.Type == "ERROR" {
		var status struct{ Code int }
		_ = json.Unmarshal(e.Object, &status) // an object that is not a status is shown as a whole
		if first, lines, ok := r.status(status.Code, e.Object); ok {
			return append([]string{"ERROR " + first}, lines...)
		}
		return append([]string{"ERROR"}, r.body(e.Object)...)
	}
	r.list = e.Type == "BOOKMARK"
	if len(r.show) == 0 {
		r.show = []string{"metadata.name", "metadata.resourceVersion"}
	}
	return []string{e.Type + " " + r.line(object(e.Object))}
}
