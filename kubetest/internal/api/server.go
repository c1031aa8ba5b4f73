// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kubetest/internal/store"
)

// Server is the handler of an API server. It is safe for concurrent use.
type Server struct {
	Store   *store.Store
	Watches *store.Hold // of all watches of the clients of this handler

	outer    *store.Hold // that of the server of which this one is a side, or nil
	kinds    *kinds
	invented map[types.UID]bool // owners of the objects of Add, which need not exist; immutable when requests come
	report   func(panicked string)
}

// New returns a server without objects. It calls report after a panic while it serves a request, which is a fault of
// the server.
func New(report func(panicked string)) *Server {
	return &Server{
		Store: store.New(), Watches: &store.Hold{}, kinds: newKinds(), invented: make(map[types.UID]bool), report: report,
	}
}

// Side returns another handler of the server. Its Watches are those of its own clients. Those of the server are held
// back for them, too.
func (s *Server) Side() *Server {
	side := *s
	side.outer, side.Watches = s.Watches, &store.Hold{}
	return &side
}

// holds returns what holds back the events of watches.
func (s *Server) holds() []*store.Hold {
	if s.outer == nil {
		return []*store.Hold{s.Watches}
	}
	return []*store.Hold{s.Watches, s.outer}
}

// observerKey is the key of the observer of a request in its context.
type observerKey struct{}

// Observe returns a context for a request, whose changes are passed to f before other requests see them. It is not
// called if there are none. f must not use the server.
func Observe(ctx context.Context, f func([]store.Change)) context.Context {
	return context.WithValue(ctx, observerKey{}, f)
}

// observe calls the observer of a request.
func observe(ctx context.Context, changes []store.Change) {
	if f, ok := ctx.Value(observerKey{}).(func([]store.Change)); ok && len(changes) > 0 {
		f(changes)
	}
}
