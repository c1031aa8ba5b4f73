// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
)

// Server remembers what watchers have learned about one API server: which of its APIs do not support streaming lists,
// or do not select by shard. Let all watchers of a server share one, so that each need not learn it. The zero value is
// ready to use. A Server is safe for concurrent use. It must not be copied.
type Server struct {
	mu    sync.Mutex           // guards the fields below
	lacks map[string]time.Time // by apiOf and feature: until when this is remembered
}

// apiOf returns the group and version of a resource, which the API server or one aggregated server serves. So the
// responses for one of its kinds hold for all of them.
func apiOf(res core.Resource) string { return res.Group + "/" + res.Version }

// The features that an API may lack.
const (
	streams = "" // streaming lists
	shards  = "#shards"
)

// remembered is the shortest time for which a Server remembers that an API does not support a feature. The longest time
// is twice that. The server may be upgraded meanwhile.
const remembered = time.Hour

// has reports whether a feature is worth a request for a resource.
func (s *Server) has(feature string, res core.Resource, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.lacks[apiOf(res)+feature])
}

// refuse remembers that the server does not support a feature for a resource.
func (s *Server) refuse(feature string, res core.Resource, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacks == nil {
		s.lacks = make(map[string]time.Time)
	}
	s.lacks[apiOf(res)+feature] = now.Add(jitter(remembered))
}

// forget discards everything after a connection to the server has failed: another version of it may start.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.lacks)
}
