// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
)

// podSpec describes a pod of the test's node.
type podSpec struct {
	name       string
	owner      string // kind/name of its controller
	mirror     bool
	emptyDir   bool
	phase      string
	deleting   bool
	labels     map[string]string
	finalizers []string

	refusals []string      // the names of the responses to the first evictions
	lingers  time.Duration // the time from its eviction to its deletion
	stays    bool          // it never terminates
}

// failer is the part of testing.TB that reports failures.
type failer interface {
	Error(args ...any)
	Errorf(format string, args ...any)
}

// cluster is an API server with one node, in memory. It is an http.RoundTripper.
type cluster struct {
	t          failer
	daemonSets []string

	mu       sync.Mutex // guards the fields below
	pods     map[string]*podSpec
	cordoned bool
	arriving []*podSpec // pods that are created when the node is cordoned
	evicted  []string   // names, in order
	queries  []string   // the bodies of evictions and deletions
	version  int
	history  [][]byte // the watch event of each version, from 1
	watches  map[*io.PipeWriter]bool
	timers   sync.WaitGroup

	failLists int  // the number of lists of the watch that will fail after the cordon
	noWatch   bool // watches are forbidden
}

// newCluster returns a cluster whose node has the given pods. It reports unexpected requests to t.
func newCluster(t failer, pods ...*podSpec) *cluster {
	c := &cluster{t: t, pods: map[string]*podSpec{}, watches: map[*io.PipeWriter]bool{}}
	for _, p := range pods {
		c.pods[p.name] = p
	}
	return c
}

// client returns a client of the cluster.
func (c *cluster) client(ctx context.Context) *client.Client {
	cl, err := client.New(ctx, &client.Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: c})
	if err != nil {
		panic(err)
	}
	return cl
}

// RoundTrip responds like an API server.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent map[string]any
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		_ = json.Unmarshal(data, &sent)
	}
	if r.URL.Query().Has("sendInitialEvents") {
		status := `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid","message":"sendInitialEvents: Forbidden"}`
		return response(r, 422, io.NopCloser(strings.NewReader(status))), nil
	}
	code, body := c.answer(r, sent)
	if body == nil {
		return c.watch(r), nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return response(r, code, io.NopCloser(strings.NewReader(string(data)))), nil
}

func response(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}
}

type object = map[string]any

// answer returns the response to any request but a watch.
func (c *cluster) answer(r *http.Request, sent object) (int, object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, partial := r.URL.Path, strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	name := path[strings.LastIndex(path, "/")+1:]
	switch {
	case path == "/api/v1/nodes/n1":
		if r.Method == http.MethodPatch {
			c.cordoned = true
			for _, p := range c.arriving {
				c.pods[p.name] = p
			}
		}
		return 200, viewed(partial, object{"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "n1"}})
	case path == "/api/v1/pods" && r.URL.Query().Get("watch") != "" && c.noWatch:
		return status(403, "Forbidden", "pods is forbidden: user cannot watch it")
	case path == "/api/v1/pods" && r.URL.Query().Get("watch") != "":
		return 200, nil
	case path == "/api/v1/pods":
		if r.URL.Query().Get("fieldSelector") != "spec.nodeName=n1" {
			c.t.Errorf("pods are listed by %q", r.URL.RawQuery)
		}
		if partial && c.cordoned {
			if c.failLists--; c.failLists >= 0 {
				return status(500, "InternalError", "the server is in a bad mood")
			}
		}
		return 200, c.list(partial, r.URL.Query().Get("labelSelector"))
	case strings.Contains(path, "/daemonsets/"):
		if slices.Contains(c.daemonSets, name) {
			return 200, viewed(partial, object{"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": object{"name": name, "namespace": "prod"}})
		}
		return 404, object{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
			"details": object{"name": name, "kind": "daemonsets", "group": "apps"},
		}
	case strings.HasSuffix(path, "/eviction"):
		c.queries = append(c.queries, fmt.Sprint("evict ", sent["deleteOptions"]))
		return c.evict(path[:len(path)-len("/eviction")])
	case r.Method == http.MethodDelete:
		c.queries = append(c.queries, fmt.Sprint("delete ", sent))
		return c.evict(path)
	}
	c.t.Errorf("unexpected request %s %s", r.Method, r.URL)
	return status(404, "NotFound", "unknown path")
}

// viewed returns the metadata of an object if the request asks for metadata, and the object otherwise.
func viewed(partial bool, o object) object {
	if partial {
		o = maps.Clone(o)
		o["kind"], o["apiVersion"] = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	return o
}

func status(code int, reason, message string, causes ...object) (int, object) {
	return code, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
		"details": object{"kind": "pods", "causes": causes},
	}
}

func (c *cluster) list(partial bool, selector string) object {
	items := []object{}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[name]
		if label, value, ok := strings.Cut(selector, "="); !ok || p.labels[label] == value {
			items = append(items, p.object())
		}
	}
	kind, apiVersion := "PodList", "v1"
	if partial {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return object{
		"kind": kind, "apiVersion": apiVersion, "items": items,
		"metadata": object{"resourceVersion": strconv.Itoa(c.version)},
	}
}

// object returns the pod as the server stores it.
func (p *podSpec) object() object {
	meta := object{
		"name": p.name, "namespace": "prod", "uid": "u-" + p.name, "labels": p.labels, "finalizers": p.finalizers,
		"annotations": object{},
	}
	if p.mirror {
		meta["annotations"] = object{"kubernetes.io/config.mirror": "x"}
	}
	if p.deleting {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	if kind, name, ok := strings.Cut(p.owner, "/"); ok {
		meta["ownerReferences"] = []object{{"kind": kind, "name": name, "apiVersion": "apps/v1", "uid": "o", "controller": true}}
	}
	volumes := []object{{"name": "v", "configMap": object{}}}
	if p.emptyDir {
		volumes = append(volumes, object{"name": "e", "emptyDir": object{}})
	}
	return object{"metadata": meta, "spec": object{"volumes": volumes}, "status": object{"phase": p.phase}}
}

// evict returns the refusals of the pod first, and then terminates it.
func (c *cluster) evict(path string) (int, object) {
	name := path[strings.LastIndex(path, "/")+1:]
	p := c.pods[name]
	if p == nil {
		return status(404, "NotFound", "pods \""+name+"\" not found")
	}
	if len(p.refusals) > 0 {
		refusal := p.refusals[0]
		p.refusals = p.refusals[1:]
		switch refusal {
		case "budget":
			return status(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
				object{"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2 currently"})
		case "busy":
			return status(503, "ServiceUnavailable", "try again")
		case "two budgets":
			return status(500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		case "ending namespace":
			return status(403, "Forbidden", "unable to create new content in namespace prod because it is being terminated",
				object{"reason": "NamespaceTerminating", "message": "namespace prod is being terminated"})
		case "forbidden":
			return status(403, "Forbidden", "not you")
		case "not served":
			return 404, object{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
				"message": "the server could not find the requested resource",
			}
		case "gone":
			c.timers.Go(func() { c.end(name) })
			return status(404, "NotFound", "pods \""+name+"\" not found")
		case "conflict":
			return status(409, "Conflict", "Operation cannot be fulfilled on poddisruptionbudgets.policy \"web\": the object has been modified")
		case "replaced":
			c.timers.Go(func() {
				time.Sleep(time.Second)
				c.end(name)
			})
			return status(409, "Conflict", "Precondition failed: UID in precondition: u-a, UID in object meta: u-b")
		}
		c.t.Errorf("no refusal %q", refusal)
	}
	c.evicted = append(c.evicted, name)
	if !p.stays {
		c.timers.Go(func() {
			time.Sleep(p.lingers)
			c.end(name)
		})
	}
	return 201, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}
}

// end removes a pod and sends its deletion to the watches.
func (c *cluster) end(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[name] == nil {
		return
	}
	obj := viewed(true, c.pods[name].object())
	delete(c.pods, name)
	c.version++
	obj["metadata"].(object)["resourceVersion"] = strconv.Itoa(c.version)
	c.history = append(c.history, c.send("DELETED", obj))
}

// send sends an event to all watches and returns its bytes. The caller holds the mutex.
func (c *cluster) send(eventType string, obj object) []byte {
	event, err := json.Marshal(object{"type": eventType, "object": obj})
	if err != nil {
		c.t.Error(err)
	}
	for w := range c.watches {
		go func() { _, _ = w.Write(event) }()
	}
	return event
}

// expire ends all watches with an event that reports an expired resource version.
func (c *cluster) expire(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send("ERROR", object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": reason})
}

// cut ends all watches.
func (c *cluster) cut(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watches {
		w.CloseWithError(err)
	}
	clear(c.watches)
}

// watch returns a stream of events.
func (c *cluster) watch(r *http.Request) *http.Response {
	reader, writer := io.Pipe()
	c.mu.Lock()
	c.watches[writer] = true
	since, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		c.t.Error(err)
	}
	missed := slices.Concat(c.history[since:]...)
	c.mu.Unlock()
	go func() { _, _ = writer.Write(missed) }()
	stop := context.AfterFunc(r.Context(), func() { writer.CloseWithError(context.Cause(r.Context())) })
	return response(r, 200, &stream{reader, func() {
		stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, writer)
	}})
}

// stream is the body of a watch.
type stream struct {
	*io.PipeReader
	done func()
}

func (s *stream) Close() error {
	s.done()
	return s.PipeReader.Close()
}
