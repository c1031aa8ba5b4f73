// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// object is an object of the fake server.
type object = map[string]any

// event is a change of an object of the fake server.
type event struct {
	version  int
	path     string // of the collection
	key      string // NAMESPACE/NAME
	old, now object
}

// server is a fake API server. It lists, watches and writes objects of any kind, and has the behaviors below /test that
// the cases need.
type server struct {
	*httptest.Server

	flooded atomic.Int64 // bytes that responses of /test/flood have sent

	mu       sync.Mutex // guards the fields below
	version  int
	objects  map[string]map[string]object // by the path of the collection in all namespaces, and NAMESPACE/NAME
	log      []event
	changed  chan struct{} // closed at each change
	cut      chan struct{} // closed to end all watches
	requests []received
	watches  map[string]int      // the number of watches that have started, by the path
	denied   map[string]bool     // paths of collections that nobody may read
	deleted  map[string]bool     // the names of service accounts that do not exist any more
	blocked  map[string]chan any // lists and watches of these collections wait
	controls map[string]*control // by module
	hanging  map[string]int      // requests of /test/hang that have not ended, by the query
	user     string              // that refusals name
	refusals int                 // of the next access reviews, which the server does not decide
}

// received is a request that the server has received.
type received struct {
	method, path, query, contentType, body string
	header                                 http.Header
}

// control has the commands for the last instance of a guest.
type control struct {
	commands []string // that have not been sent
	sessions int      // that have begun
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{
		objects: map[string]map[string]object{}, changed: make(chan struct{}), cut: make(chan struct{}), version: 100,
		watches: map[string]int{}, denied: map[string]bool{}, deleted: map[string]bool{}, blocked: map[string]chan any{},
		controls: map[string]*control{}, hanging: map[string]int{},
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// control returns the commands for a module.
func (s *server) control(module string) *control {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.controls[module]
	if c == nil {
		c = &control{}
		s.controls[module] = c
	}
	return c
}

// change wakes everything that waits for a change of the server. The caller holds s.mu.
func (s *server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// put creates or replaces an object, and returns its version.
func (s *server) put(path string, obj object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(path, obj)
}

// putAll creates objects.
func (s *server) putAll(path string, all []object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, obj := range all {
		s.storeLocked(path, obj)
	}
	s.change()
}

func (s *server) putLocked(path string, obj object) string {
	defer s.change()
	return s.storeLocked(path, obj)
}

func (s *server) storeLocked(path string, obj object) string {
	meta := metadata(obj)
	key := fmt.Sprint(meta["namespace"], "/", meta["name"])
	old := s.objects[path][key]
	s.version++
	meta["resourceVersion"] = strconv.Itoa(s.version)
	if old != nil {
		meta["uid"] = metadata(old)["uid"]
	} else {
		meta["uid"] = fmt.Sprintf("uid-%d", s.version)
	}
	if s.objects[path] == nil {
		s.objects[path] = map[string]object{}
	}
	obj = clone(obj)
	s.objects[path][key] = obj
	s.log = append(s.log, event{s.version, path, key, old, obj})
	return strconv.Itoa(s.version)
}

// remove deletes an object.
func (s *server) remove(path, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(path, key)
}

func (s *server) removeLocked(path, key string) {
	if old := s.objects[path][key]; old != nil {
		delete(s.objects[path], key)
		s.version++
		s.log = append(s.log, event{s.version, path, key, old, nil})
		s.change()
	}
}

// get returns an object, or nil.
func (s *server) get(path, key string) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.objects[path][key])
}

// received returns the requests that a function selects.
func (s *server) received(matches func(received) bool) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []received
	for _, r := range s.requests {
		if matches(r) {
			all = append(all, r)
		}
	}
	return all
}

// deny makes a collection one that nobody may read.
func (s *server) deny(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[path] = true
}

// cutWatches ends all watches.
func (s *server) cutWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// block makes lists and watches of a collection wait until the result is called.
func (s *server) block(path string) func() {
	gate := make(chan any)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked[path] = gate
	return sync.OnceFunc(func() { close(gate) })
}

func metadata(obj object) object {
	m, _ := obj["metadata"].(object)
	return m
}

func clone(obj object) object {
	if obj == nil {
		return nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	var c object
	if err := json.Unmarshal(data, &c); err != nil {
		panic(err)
	}
	return c
}

// target is what the path of a request identifies.
type target struct{ path, namespace, name, subresource string }

func targetOf(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	prefix := 3
	if parts[0] == "api" {
		prefix = 2
	}
	if len(parts) <= prefix {
		return target{}, false
	}
	var t target
	rest := parts[prefix:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		t.namespace, rest = rest[1], rest[2:]
	}
	t.path = "/" + strings.Join(parts[:prefix], "/") + "/" + rest[0]
	if len(rest) > 1 {
		t.name = rest[1]
	}
	if len(rest) > 2 {
		t.subresource = rest[2]
	}
	return t, true
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, received{
		r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body), r.Header.Clone(),
	})
	s.change()
	s.mu.Unlock()
	if name, ok := strings.CutPrefix(r.URL.Path, "/test/"); ok {
		s.test(w, r, name, body)
		return
	}
	t, ok := targetOf(r.URL.Path)
	if !ok {
		discover(w, r)
		return
	}
	s.mu.Lock()
	gate, denied := s.blocked[t.path], s.denied[t.path]
	if strings.HasSuffix(t.path, "accessreviews") && s.refusals > 0 {
		s.refusals--
		denied = true
	}
	account := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer a-secret-of-")
	lost, absent := s.deleted[account], s.deleted[t.name] && t.subresource == "token"
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case lost:
		status(w, 401, "Unauthorized")
	case absent:
		status(w, 404, "NotFound")
	case denied:
		reply(w, 403, object{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
			"message": fmt.Sprintf("%s is forbidden: User %q cannot use it", r.URL.Path, s.user),
		})
	case t.subresource == "token":
		reply(w, 201, object{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "status": object{
			"token": "a-secret-of-" + t.name, "expirationTimestamp": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}})
	case strings.HasSuffix(t.path, "/endless"):
		s.endless(w, r)
	case strings.HasSuffix(t.path, "accessreviews"):
		s.review(w, body)
	case r.Method != http.MethodGet:
		s.write(w, r, t, body)
	case t.name != "":
		if obj := s.get(t.path, t.namespace+"/"+t.name); obj != nil {
			reply(w, 200, obj)
		} else {
			missing(w, t)
		}
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r, t)
	default:
		s.list(w, r, t)
	}
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func status(w http.ResponseWriter, code int, reason string) {
	reply(w, code, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason,
	})
}

// missing replies that an object does not exist. The details differ from the response for a kind that is not served.
func missing(w http.ResponseWriter, t target) {
	reply(w, 404, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "NotFound",
		"details": object{"name": t.name, "kind": path.Base(t.path)},
	})
}

// review answers an access review: all is allowed but what is denied.
func (s *server) review(w http.ResponseWriter, body []byte) {
	var review object
	if err := json.Unmarshal(body, &review); err != nil {
		status(w, 400, "BadRequest")
		return
	}
	spec, _ := review["spec"].(object)
	attributes, _ := spec["resourceAttributes"].(object)
	allowed := true
	s.mu.Lock()
	for path := range s.denied {
		allowed = allowed && !strings.HasSuffix(path, "/"+fmt.Sprint(attributes["resource"]))
	}
	s.mu.Unlock()
	review["status"] = object{"allowed": allowed}
	reply(w, 201, review)
}

// discover serves the discovery of the kinds of the suite.
func discover(w http.ResponseWriter, r *http.Request) {
	resource := func(name, kind string) object {
		return object{
			"name": name, "singularName": "", "namespaced": true, "kind": kind,
			"verbs": []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		}
	}
	version := object{"groupVersion": "conformance.test/v1", "version": "v1"}
	switch r.URL.Path {
	case "/api":
		reply(w, 200, object{"kind": "APIVersions", "versions": []string{"v1"}})
	case "/apis":
		reply(w, 200, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{{
			"name": "conformance.test", "versions": []object{version}, "preferredVersion": version,
		}}})
	case "/api/v1":
		reply(w, 200, object{
			"kind": "APIResourceList", "groupVersion": "v1", "resources": []object{resource("configmaps", "ConfigMap")},
		})
	case "/apis/conformance.test/v1":
		reply(w, 200, object{"kind": "APIResourceList", "groupVersion": "conformance.test/v1", "resources": []object{
			resource("tasks", "Task"), resource("notes", "Note"),
		}})
	default:
		status(w, 404, "NotFound")
	}
}

// selects returns a function that reports whether a request selects an object.
func selects(r *http.Request, t target) func(object) bool {
	q := r.URL.Query()
	return func(obj object) bool {
		if obj == nil {
			return false
		}
		meta := metadata(obj)
		labels, _ := meta["labels"].(object)
		if t.namespace != "" && meta["namespace"] != t.namespace {
			return false
		}
		for term := range strings.SplitSeq(q.Get("labelSelector"), ",") {
			if name, value, ok := strings.Cut(term, "="); ok && labels[name] != strings.TrimPrefix(value, "=") {
				return false
			}
		}
		for term := range strings.SplitSeq(q.Get("fieldSelector"), ",") {
			if name, value, ok := strings.Cut(term, "="); ok && meta[strings.TrimPrefix(name, "metadata.")] != value {
				return false
			}
		}
		return true
	}
}

// view returns an object as a request accepts it.
func view(r *http.Request, obj object) object {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return obj
	}
	return object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": obj["metadata"]}
}

// kindOf returns the apiVersion and kind of a collection.
func kindOf(path string) (apiVersion, kind string) {
	switch {
	case strings.HasSuffix(path, "/tasks"):
		return "conformance.test/v1", "Task"
	case strings.HasSuffix(path, "/notes"):
		return "conformance.test/v1", "Note"
	case strings.HasSuffix(path, "/lates"):
		return "conformance.test/v1", "Late"
	}
	return "v1", "ConfigMap"
}

func (s *server) list(w http.ResponseWriter, r *http.Request, t target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matches, items := selects(r, t), []object{}
	for _, key := range slices.Sorted(maps.Keys(s.objects[t.path])) {
		if obj := s.objects[t.path][key]; matches(obj) {
			items = append(items, view(r, obj))
		}
	}
	apiVersion, kind := kindOf(t.path)
	if len(items) > 0 && items[0]["kind"] == "PartialObjectMetadata" {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadata"
	}
	reply(w, 200, object{
		"kind": kind + "List", "apiVersion": apiVersion, "items": items,
		"metadata": object{"resourceVersion": strconv.Itoa(s.version)},
	})
}

func (s *server) watch(w http.ResponseWriter, r *http.Request, t target) {
	q, matches := r.URL.Query(), selects(r, t)
	encoder := json.NewEncoder(w)
	send := func(kind string, obj object) { _ = encoder.Encode(object{"type": kind, "object": view(r, obj)}) }
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.watches[t.path]++
	s.change()
	from, cut := len(s.log), s.cut
	if q.Get("sendInitialEvents") == "true" {
		for _, key := range slices.Sorted(maps.Keys(s.objects[t.path])) {
			if obj := s.objects[t.path][key]; matches(obj) {
				send("ADDED", obj)
			}
		}
		apiVersion, kind := kindOf(t.path)
		send("BOOKMARK", object{"apiVersion": apiVersion, "kind": kind, "metadata": object{
			"resourceVersion": strconv.Itoa(s.version), "annotations": object{"k8s.io/initial-events-end": "true"},
		}})
	} else if since, err := strconv.Atoi(q.Get("resourceVersion")); err == nil {
		from, _ = slices.BinarySearchFunc(s.log, since+1, func(e event, v int) int { return e.version - v })
	}
	for {
		batch, changed := s.log[from:], s.changed
		from = len(s.log)
		s.mu.Unlock()
		for _, e := range batch {
			was, is := matches(e.old), matches(e.now)
			switch {
			case e.path != t.path:
			case was && is:
				send("MODIFIED", e.now)
			case is:
				send("ADDED", e.now)
			case was:
				old := clone(e.old)
				metadata(old)["resourceVersion"] = strconv.Itoa(e.version)
				send("DELETED", old)
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
		s.mu.Lock()
	}
}

// write creates, replaces, patches or deletes an object. Every patch is a merge patch.
func (s *server) write(w http.ResponseWriter, r *http.Request, t target, body []byte) {
	var sent object
	if len(body) > 0 {
		if err := json.Unmarshal(body, &sent); err != nil {
			status(w, 400, "BadRequest")
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost {
		meta := metadata(sent)
		if meta["name"] == nil {
			meta["name"] = fmt.Sprint(meta["generateName"], s.version)
		}
		t.name = fmt.Sprint(meta["name"])
	}
	key := t.namespace + "/" + t.name
	old := s.objects[t.path][key]
	switch {
	case r.Method == http.MethodDelete:
		preconditions, _ := sent["preconditions"].(object)
		uid := preconditions["uid"]
		if old == nil {
			missing(w, t)
			return
		} else if uid != nil && uid != metadata(old)["uid"] {
			status(w, 409, "Conflict")
			return
		}
		s.removeLocked(t.path, key)
		reply(w, 200, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
		return
	case old == nil && (r.Method != http.MethodPatch || r.URL.Query().Has("fieldManager")), r.Method == http.MethodPut:
	case old == nil:
		missing(w, t)
		return
	case r.Method == http.MethodPost:
		status(w, 409, "AlreadyExists")
		return
	default:
		merged := clone(old)
		merge(merged, sent)
		sent = merged
	}
	if metadata(sent) == nil {
		sent["metadata"] = object{}
	}
	metadata(sent)["namespace"], metadata(sent)["name"] = t.namespace, t.name
	if old != nil && equal(old, sent) {
		reply(w, 200, old)
		return
	}
	s.putLocked(t.path, sent)
	code := 200
	if old == nil {
		code = 201
	}
	reply(w, code, s.objects[t.path][key])
}

func equal(a, b object) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func merge(to, patch object) {
	for name, value := range patch {
		sub, isMap := value.(object)
		was, wasMap := to[name].(object)
		switch {
		case value == nil:
			delete(to, name)
		case isMap && wasMap:
			merge(was, sub)
		default:
			to[name] = value
		}
	}
}

// test serves the behaviors that are not those of an API server.
func (s *server) test(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	number := func(name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return n
	}
	flush := w.(http.Flusher).Flush
	chunk := []byte(strings.Repeat("x", 32<<10))
	if module, ok := strings.CutPrefix(name, "control/"); ok {
		s.commands(w, r, module)
		return
	}
	switch name {
	case "echo": // the method, the header X-Test and the body
		fmt.Fprintf(w, "%s %s %x", r.Method, r.Header.Get("X-Test"), body)
	case "big":
		for left := number("bytes"); left > 0; left -= len(chunk) {
			if _, err := w.Write(chunk[:min(left, len(chunk))]); err != nil {
				return
			}
			flush()
		}
	case "status":
		w.WriteHeader(number("code"))
	case "cut": // the connection breaks in the body
		_, _ = w.Write(chunk)
		flush()
		panic(http.ErrAbortHandler)
	case "drop": // the connection breaks before the response
		panic(http.ErrAbortHandler)
	case "hang", "stall": // no response; a response without an end
		if name == "stall" {
			_, _ = w.Write([]byte("begin"))
			flush()
		}
		s.hang(r.URL.RawQuery, 1)
		<-r.Context().Done()
		s.hang(r.URL.RawQuery, -1)
	case "flood": // a large response without an end
		for r.Context().Err() == nil {
			n, err := w.Write(chunk)
			s.flooded.Add(int64(n))
			if err != nil {
				return
			}
			flush()
		}
	case "endless":
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk[:1<<10]); err != nil {
				return
			}
			flush()
		}
	default:
		http.NotFound(w, r)
	}
}

// endless sends a watch whose initial objects have no end.
func (s *server) endless(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "true" {
		status(w, 400, "BadRequest")
		return
	}
	s.hang("endless", 1)
	defer s.hang("endless", -1)
	w.Header().Set("Content-Type", "application/json")
	data := make([]byte, 25_000)
	for n := 0; r.Context().Err() == nil; n++ {
		_, _ = rand.Read(data)
		sent, err := fmt.Fprintf(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Endless","metadata":{"namespace":"n",`+
			`"name":"o%d","uid":"%d","resourceVersion":"%d"},"data":"%x"}}`+"\n", n, n, n+1, data)
		s.flooded.Add(int64(sent))
		if err != nil {
			return
		}
	}
}

func (s *server) hang(key string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hanging[key] += by
	s.change()
}

// commands sends the commands for a module, until another instance asks for them.
func (s *server) commands(w http.ResponseWriter, r *http.Request, module string) {
	c := s.control(module)
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.sessions++
	s.change()
	for session := c.sessions; session == c.sessions; {
		lines, changed := c.commands, s.changed
		c.commands = nil
		s.mu.Unlock()
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			s.mu.Lock()
			return
		case <-changed:
		}
		s.mu.Lock()
	}
}

// command adds a command for a module.
func (s *server) command(c *control, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.commands = append(c.commands, line)
	s.change()
}
