// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal records what the clients of an API server write.
package journal

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/store"
)

const (
	// maxLines is the number of lines that a journal keeps.
	maxLines = 1000
	// maxRequests is the number of equal requests in a window that are an endless loop.
	maxRequests = 10_000
	// window is a time in which no program sends so many equal requests unless it does not let time pass.
	window = time.Minute
)

// Request identifies a request in each run of a test.
type Request struct {
	Author string
	Method string
	Path   string // with the name of a new object, and with prefix* for a generated name
	N      int    // 1 for the first such request
}

// Counts are how often an object was created and deleted.
type Counts struct{ Created, Deleted int }

// Journal records requests and changes. It is safe for concurrent use.
type Journal struct {
	start  time.Time
	ignore func(*unstructured.Unstructured) bool

	mu       sync.Mutex // guards the fields below
	lines    []string
	left     int                  // lines that are not kept
	changes  int                  // that count for Changes
	requests map[Request]int      // by a request without its number
	recent   recent               // between Begin and End
	names    map[string]string    // generated names
	uids     map[string]bool      // of created objects
	counts   map[string]Counts    // by the names of Name
	made     map[store.Key]string // the authors of objects
}

// recent are the numbers of requests in the current window, by method and path, and of changes, by object. They are nil
// before Begin and after End.
type recent struct {
	window            time.Time
	requests, changes map[string]int
}

// New returns an empty journal. Ignore, which may be nil, returns true for objects whose changes do not matter.
func New(ignore func(*unstructured.Unstructured) bool) *Journal {
	return &Journal{
		start: time.Now(), ignore: ignore, requests: make(map[Request]int), names: make(map[string]string),
		uids: make(map[string]bool), counts: make(map[string]Counts), made: make(map[store.Key]string),
	}
}

// Request counts a request and identifies it. Name is that of the object that it creates, or empty. Between Begin and
// End, it returns false if there are so many equal ones in a minute that the program must be in an endless loop.
func (j *Journal) Request(author string, r *http.Request, name string) (Request, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := r.Method + " " + r.URL.Path
	if j.recent.requests != nil {
		if time.Since(j.recent.window) >= window {
			j.recent.window = time.Now()
			clear(j.recent.requests)
		}
		j.recent.requests[key]++
	}
	req := Request{Author: author, Method: r.Method, Path: strings.TrimSuffix(j.path(r.URL.Path)+"/"+name, "/")}
	j.requests[req]++
	req.N = j.requests[req]
	return req, j.recent.requests[key] <= maxRequests
}

// path returns a short path without generated names: "orders.example.com/shop/one/status". The caller holds j.mu.
func (j *Journal) path(path string) string {
	p := parse(path)
	resource := p.resource
	if p.group != "" {
		resource += "." + p.group
	}
	parts := slices.DeleteFunc([]string{p.namespace, p.name, p.subresource}, func(s string) bool { return s == "" })
	for i, part := range parts {
		if generic, ok := j.names[part]; ok {
			parts[i] = generic
		}
	}
	return strings.Join(append([]string{resource}, parts...), "/")
}

// Reads returns whether a request gets or lists objects, other than events and leases, which do not matter.
func Reads(r *http.Request) bool {
	p := parse(r.URL.Path)
	watch := r.URL.Query().Get("watch")
	return r.Method == http.MethodGet && p.served && (watch == "" || p.name != "") &&
		!unimportant(schema.GroupResource{Group: p.group, Resource: p.resource})
}

// ObjectPath returns the path of the object of a request, without the subresource.
func ObjectPath(path string) string { return strings.TrimSuffix(path, "/"+parse(path).subresource) }

// parts are the parts of a path. Those that it does not have are empty.
type parts struct {
	group, resource, namespace, name, subresource string

	served bool // it is the path of a resource, and not of discovery
}

// parse splits the path of a request.
func parse(path string) (p parts) {
	rest := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case rest[0] == "api" && len(rest) > 2:
		p.served, rest = true, rest[2:]
	case rest[0] == "apis" && len(rest) > 3:
		p.served, p.group, rest = true, rest[1], rest[3:]
	}
	ofNamespace := len(rest) == 3 && (rest[2] == "status" || rest[2] == "finalize")
	if rest[0] == "namespaces" && len(rest) > 2 && !ofNamespace {
		p.namespace, rest = rest[1], rest[2:]
	}
	for i, to := range []*string{&p.resource, &p.name, &p.subresource} {
		if i < len(rest) {
			*to = rest[i]
		}
	}
	return p
}

// Begin begins to count equal requests for the limit of Request, and returns Changes.
func (j *Journal) Begin() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recent = recent{window: time.Now(), requests: make(map[string]int), changes: make(map[string]int)}
	return j.changes
}

// End ends the count of equal requests.
func (j *Journal) End() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.recent = recent{}
}

// Changes returns the number of changes, except for those of events and leases.
func (j *Journal) Changes() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changes
}

// Changed records the changes of a request. It returns whether one of them matters.
func (j *Journal) Changed(r Request, changes []store.Change) (matters bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range changes {
		if !j.Matters(c.GroupResource, cmp.Or(c.New, c.Old)) {
			continue
		}
		matters = true
		j.changes++
		if c.Old == nil {
			if prefix := c.New.GetGenerateName(); prefix != "" && strings.HasPrefix(c.Name, prefix) {
				j.names[c.Name] = prefix + "*"
			}
			if uid := string(c.New.GetUID()); uid != "" {
				j.uids[uid] = true
			}
		}
		name := j.name(c.Key)
		n := j.counts[name]
		what := "changed"
		switch {
		case c.Old == nil:
			what = "created"
			n.Created++
			j.made[c.Key] = r.Author
		case c.New == nil:
			what = "deleted"
			n.Deleted++
		}
		j.counts[name] = n
		if j.recent.changes != nil {
			j.recent.changes[name]++
		}
		j.add(fmt.Sprintf("%-8s %s %s %s", r.Author, what, c.GroupResource, c.ObjectRef))
	}
	return matters
}

// Matters returns whether the changes of an object are recorded. Those of events and leases are not: they change at any
// time, and controllers do not depend on them.
func (j *Journal) Matters(gr schema.GroupResource, obj *unstructured.Unstructured) bool {
	return !unimportant(gr) && (j.ignore == nil || !j.ignore(obj.DeepCopy()))
}

func unimportant(gr schema.GroupResource) bool {
	return gr == schema.GroupResource{Resource: "events"} ||
		gr == schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
}

// Note records a line.
func (j *Journal) Note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(line)
}

// add records a line. The caller holds j.mu.
func (j *Journal) add(line string) {
	if len(j.lines) == maxLines {
		j.left++
		return
	}
	j.lines = append(j.lines, fmt.Sprintf("%8s  %s", time.Since(j.start).Round(time.Millisecond), line))
}

// String returns the lines with their times.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := strings.Join(j.lines, "\n")
	if j.left > 0 {
		text += fmt.Sprintf("\n… and %d more", j.left)
	}
	return text
}

// MostRequested returns the most frequent request in the current window, and its number.
func (j *Journal) MostRequested() (request string, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return mostFrequent(j.recent.requests)
}

// MostChanged returns the object with the most changes since Begin, and their number.
func (j *Journal) MostChanged() (object string, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return mostFrequent(j.recent.changes)
}

func mostFrequent(counts map[string]int) (most string, n int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > n {
			most, n = name, counts[name]
		}
	}
	return most, n
}

// Counts returns how often each object was created and deleted, by its name as returned by Name.
func (j *Journal) Counts() map[string]Counts {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.counts)
}

// Author returns the author of an object. It is empty for an object that existed at the start.
func (j *Journal) Author(key store.Key) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.made[key]
}

// Name returns the name of an object that is the same in each run: with prefix* for a generated name.
func (j *Journal) Name(key store.Key) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.name(key)
}

func (j *Journal) name(key store.Key) string {
	ref := key.ObjectRef
	if generic, ok := j.names[ref.Name]; ok {
		ref.Name = generic
	}
	return key.GroupResource.String() + " " + ref.String()
}

// Generated returns the generated names and the UIDs of created objects, each with what replaces it.
func (j *Journal) Generated() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := maps.Clone(j.names)
	for uid := range j.uids {
		all[uid] = "uid"
	}
	return all
}
