// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/kube-go/sdk/kubetest/internal/api"
	"github.com/kube-go/sdk/kubetest/internal/explore"
	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// handler serves the requests of one author, records what they write, and causes the faults of an exploration.
type handler struct {
	server *Server
	api    *api.Server
	author string
	dead   atomic.Bool // the program has crashed: its requests have no effect any more
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := ""
	if h.server.explore != nil {
		name = h.api.NewName(r)
	}
	req, ok := h.server.journal.Request(h.author, r, name)
	if !ok {
		h.server.stopLoop()
	}
	if !ok || h.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	operation, matters := explore.Operation{Request: req}, h.author == explore.Program && journal.Reads(r)
	serve := func(w http.ResponseWriter) {
		observer := api.Observer{Changed: func(changes []store.Change) {
			// A delete of several objects calls this for each of them.
			matters = h.server.journal.Changed(req, changes) || matters
			operation.Creates = slices.ContainsFunc(changes, func(c store.Change) bool { return c.Old == nil })
		}}
		if h.author == explore.Program {
			observer.Denied = h.server.explore.denied
		}
		h.api.ServeHTTP(w, r.WithContext(api.Observe(r.Context(), observer)))
	}
	if e := h.server.explore; e != nil {
		e.sent.Add(1)
		defer func() {
			if matters {
				e.record(operation)
			}
		}()
		if e.inject(w, r, req, serve) {
			return
		}
	}
	serve(w)
}

// stopLoop ends the connections of a program that sends the same request without end. In a bubble, it would not let
// time pass.
func (s *Server) stopLoop() {
	if s.endless.Swap(true) {
		return
	}
	request, n := s.journal.MostRequested()
	text := fmt.Sprintf("kubetest: a program is in an endless loop: it has sent %s %d times in a minute", request, n)
	if object, n := s.journal.MostChanged(); n > 0 {
		text += fmt.Sprintf("; %s has changed %d times", object, n)
	}
	s.t.Error(text)
	s.clients.cut()
	if s.explore != nil {
		s.explore.end()
	}
}
