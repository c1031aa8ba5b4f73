// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kubetest/internal/store"
)

// Server is the handler of an API server. It is safe for concurrent use.
type Server struct {
	Store   *store.Store
	Watches *store.Hold // of all watches of the clients of this handler
	// Webhooks serves the webhooks of the server. Without it, none are called.
	Webhooks http.Handler

	outer    *store.Hold // that of the server of which this one is a side, or nil
	kinds    *kinds
	invented map[types.UID]bool // missing owners of the objects of Add; immutable when requests come
	report   func(panicked string)
}

// New returns a server without objects. It calls report after a panic while it serves a request, which is a fault of
// the server.
func New(report func(panicked string), webhooks http.Handler) *Server {
	return &Server{
		Store: store.New(), Watches: &store.Hold{}, Webhooks: webhooks, kinds: newKinds(webhooks),
		invented: make(map[types.UID]bool), report: report,
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

// Observer learns what a request does. Its functions must not use the server. Nil ones are not called.
type Observer struct {
	// Changed is called with the changes of a request, if there are any, before other requests see them.
	Changed func([]store.Change)
	// Denied is called with the message of an error if the user may not send the request.
	Denied func(message string)
}

// observerKey is the key of the observer of a request in its context.
type observerKey struct{}

// Observe returns the context of a request with an observer.
func Observe(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// observe calls the observer of a request.
func observe(ctx context.Context, changes []store.Change) {
	if o, ok := ctx.Value(observerKey{}).(Observer); ok && o.Changed != nil && len(changes) > 0 {
		o.Changed(changes)
	}
}

// denied returns an error after it has called the observer of a request.
func denied(ctx context.Context, err *apierrors.StatusError) error {
	if o, ok := ctx.Value(observerKey{}).(Observer); ok && o.Denied != nil {
		o.Denied(err.ErrStatus.Message)
	}
	return err
}
