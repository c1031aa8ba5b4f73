// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/client/internal/testserver"
)

// shelf is a server that stores objects of one namespace and checks their versions, in JSON.
type shelf struct {
	*testserver.Server

	mu      sync.Mutex                // guards the fields below
	objects map[string]map[string]any // by path
	version int
	writes  int // the number of stored writes

	// before is called before the response to a write, without the lock. Set it before the first request.
	before func(r *http.Request)
}

// newShelf starts a server with the objects, by path.
func newShelf(t testing.TB, objects map[string]string) *shelf {
	t.Helper()
	s := &shelf{objects: map[string]map[string]any{}, before: func(*http.Request) {}}
	for p, text := range objects {
		s.put(t, p, text)
	}
	s.Server = testserver.New(t, s.answer)
	return s
}

// put stores an object, like another client.
func (s *shelf) put(t testing.TB, p, text string) {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(p, obj)
}

// remove deletes an object, like another client.
func (s *shelf) remove(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, p)
}

// web returns the config map web, or nil if it does not exist.
func (s *shelf) web() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[webPath]
}

// stored returns the number of writes.
func (s *shelf) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// store gives the object its next version. The caller holds the lock.
func (s *shelf) store(p string, obj map[string]any) {
	s.version++
	s.writes++
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["resourceVersion"] = strconv.Itoa(s.version)
	if meta["uid"] == nil {
		meta["uid"] = "u-" + strconv.Itoa(s.version)
	}
	s.objects[p] = obj
}

func (s *shelf) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.before(r)
	}
	asks := s.Asked()
	body := asks[len(asks)-1].Body
	s.mu.Lock()
	defer s.mu.Unlock()
	// The subresource is the object itself, with the fields of the kind.
	p := r.URL.Path
	for _, sub := range []string{"/status", "/approval", "/resize", "/ephemeralcontainers"} {
		p = strings.TrimSuffix(p, sub)
	}
	var sent map[string]any
	_ = json.Unmarshal([]byte(body), &sent)
	switch obj := s.objects[p]; {
	case r.Method == http.MethodPost:
		meta, _ := sent["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		if p = path.Join(p, name); s.objects[p] != nil {
			testserver.Fail(w, http.StatusConflict, "AlreadyExists", "it exists")
			return
		}
		s.store(p, sent)
	case obj == nil:
		testserver.Reply(w, http.StatusNotFound, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,`+
			`"reason":"NotFound","details":{"name":"`+path.Base(p)+`","kind":"`+path.Base(path.Dir(p))+`"}}`))
		return
	case r.Method == http.MethodPatch:
		meta, _ := sent["metadata"].(map[string]any)
		if rv, ok := meta["resourceVersion"]; ok && rv != obj["metadata"].(map[string]any)["resourceVersion"] {
			testserver.Fail(w, http.StatusConflict, "Conflict", "the object has been modified")
			return
		}
		s.store(p, merged(obj, sent))
	}
	data, _ := json.Marshal(s.objects[p])
	testserver.Reply(w, http.StatusOK, jsonType, data)
}

// merged returns an object after a merge patch, see RFC 7396.
func merged(obj, patch map[string]any) map[string]any {
	out := maps.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		inner, isObject := v.(map[string]any)
		switch was, _ := out[k].(map[string]any); {
		case v == nil:
			delete(out, k)
		case isObject:
			out[k] = merged(was, inner)
		default:
			out[k] = v
		}
	}
	return out
}
