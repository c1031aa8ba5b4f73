// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Server is a registry of modules, which uses HTTP. Create one with [New].
type Server struct {
	// Host is the name of the registry, with its port.
	Host string

	mu    sync.Mutex // guards the fields below
	hook  http.HandlerFunc
	blobs map[string][]byte // also manifests, by digest
	sent  []string
}

// New starts a registry, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{blobs: make(map[string][]byte)}
	server := httptest.NewServer(http.HandlerFunc(s.handle))
	t.Cleanup(server.Close)
	s.Host = strings.TrimPrefix(server.URL, "http://")
	return s
}

// Push stores a module, and returns its image. The edits change the manifest before it is stored.
func (s *Server) Push(module []byte, edits ...func(manifest map[string]any)) (image string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	config := []byte(`{"architecture":"wasm","os":"wasip1"}`)
	manifest := map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        s.blob("application/vnd.wasm.config.v0+json", config),
		"layers":        []any{s.blob("application/wasm", module)},
	}
	for _, edit := range edits {
		edit(manifest)
	}
	document, err := json.Marshal(manifest)
	if err != nil {
		panic(err)
	}
	return s.Host + "/modules/test@" + s.blob("", document)["digest"].(string)
}

// blob stores data, and returns its descriptor.
func (s *Server) blob(mediaType string, data []byte) map[string]any {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	s.blobs[digest] = data
	return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(data)}
}

// Replace replaces what the registry sends for a digest.
func (s *Server) Replace(digest string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[digest] = data
}

// Hook sets a function that handles all further requests, such as with Serve; nil for the registry itself.
func (s *Server) Hook(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Requests returns the number of requests whose path contains a text.
func (s *Server) Requests(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.sent {
		if strings.Contains(path, part) {
			n++
		}
	}
	return n
}

// handle responds to a request, with the hook if there is one.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.sent = append(s.sent, r.URL.Path)
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		hook = s.Serve
	}
	hook(w, r)
}

// Serve responds to a request without the hook.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) {
	_, path, _ := strings.Cut(r.URL.Path, "/modules/test/")
	kind, digest, _ := strings.Cut(path, "/")
	s.mu.Lock()
	data, ok := s.blobs[digest]
	s.mu.Unlock()
	if !ok {
		http.Error(w, `{"errors":[{"code":"NOT_FOUND","message":"not found"}]}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if kind == "manifests" {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	}
	_, _ = w.Write(data) // the client may have left
}
