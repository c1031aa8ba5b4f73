// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kubetest/internal/store"
)

// Server is the handler of an API server. It is safe for concurrent use.
type Server struct {
	Store *store.Store

	kinds    *kinds
	invented map[types.UID]bool // owners of the objects of Add, which need not exist; immutable when requests come
	report   func(panicked string)
}

// New returns a server without objects. It calls report after a panic while it serves a request, which is a fault of
// the server.
func New(report func(panicked string)) *Server {
	return &Server{Store: store.New(), kinds: newKinds(), invented: make(map[types.UID]bool), report: report}
}
