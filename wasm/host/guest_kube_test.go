// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	// The programs in testdata, which tests build as guests, import it. The go command ignores them in go mod tidy.
	_ "github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/wasm/host"
)

// guestOf builds a program as a guest.
func guestOf(t *testing.T, dir, program string) []byte {
	t.Helper()
	wasm, err := buildGuest(dir, program)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

type object = map[string]any

// configMaps is an API server of ConfigMaps.
type configMaps struct {
	mu      sync.Mutex // guards the fields below
	version int
	objects map[string]object // by namespace/name
	events  []event
	more    chan struct{} // closed at the next event
	watches int
}

type event struct {
	Type   string `json:"type"`
	Object object `json:"object"`
}

func newConfigMaps() *configMaps {
	return &configMaps{objects: make(map[string]object), more: make(chan struct{})}
}

func metadata(o object) object {
	m, _ := o["metadata"].(object)
	return m
}

// put stores an object. Nothing happens if it does not change.
func (c *configMaps) put(key string, fields object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(key, fields)
}

// apply stores an applied object. Like a real server, it refuses an object with a UID if no object with the UID exists.
func (c *configMaps) apply(key string, fields object) (stored object, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uid, sent := metadata(fields)["uid"]; sent && uid != metadata(c.objects[key])["uid"] {
		return nil, false
	}
	return c.store(key, fields), true
}

func (c *configMaps) store(key string, fields object) object {
	ns, name, _ := strings.Cut(key, "/")
	old, exists := c.objects[key]
	o := object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{}}
	maps.Copy(o, old)
	meta := maps.Clone(metadata(o))
	maps.Copy(meta, metadata(fields))
	data := object{}
	for _, from := range []object{old, fields} {
		more, _ := from["data"].(object)
		maps.Copy(data, more)
	}
	meta["namespace"], meta["name"] = ns, name
	if exists && reflect.DeepEqual(meta, metadata(old)) && reflect.DeepEqual(data, old["data"]) {
		return old
	}
	c.version++
	if !exists {
		meta["uid"] = fmt.Sprint("uid-", c.version)
	}
	meta["resourceVersion"] = strconv.Itoa(c.version)
	o["metadata"], o["data"] = meta, data
	c.objects[key] = o
	kind := "MODIFIED"
	if !exists {
		kind = "ADDED"
	}
	c.emit(kind, o)
	return o
}

func (c *configMaps) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	o := maps.Clone(c.objects[key])
	meta := maps.Clone(metadata(o))
	meta["resourceVersion"] = strconv.Itoa(c.version)
	o["metadata"] = meta
	delete(c.objects, key)
	c.emit("DELETED", o)
}

func (c *configMaps) emit(kind string, o object) {
	c.events = append(c.events, event{kind, o})
	close(c.more)
	c.more = make(chan struct{})
}

// await waits until the objects meet a condition.
func (c *configMaps) await(t *testing.T, what string, met func(map[string]object) bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		c.mu.Lock()
		ok, more := met(c.objects), c.more
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-deadline:
			c.mu.Lock()
			defer c.mu.Unlock()
			t.Fatalf("not so: %s: %v", what, c.objects)
		}
	}
}

func (c *configMaps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api v1 namespaces ns configmaps name
	switch {
	case r.URL.Query().Get("watch") != "":
		ns := ""
		if len(parts) > 3 {
			ns = parts[3]
		}
		c.watch(w, r, ns)
	case r.Method == http.MethodPatch:
		var o object
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &o) != nil {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		stored, ok := c.apply(parts[3]+"/"+parts[5], o)
		if !ok {
			w.WriteHeader(http.StatusConflict)
			stored = object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}
		}
		_ = json.NewEncoder(w).Encode(stored)
	case parts[len(parts)-1] == "slow":
		<-r.Context().Done()
	case parts[len(parts)-1] == "broken":
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "{")
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"message":"none","details":{"name":%q,"kind":"configmaps"}}`, parts[len(parts)-1])
	}
}

func (c *configMaps) watch(w http.ResponseWriter, r *http.Request, ns string) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	send := func(e event) { _ = json.NewEncoder(w).Encode(e) }
	selected := func(o object) bool {
		set := labels.Set{}
		all, _ := metadata(o)["labels"].(object)
		for key, value := range all {
			set[key] = fmt.Sprint(value)
		}
		return (ns == "" || metadata(o)["namespace"] == ns) && selector.Matches(set)
	}
	c.mu.Lock()
	c.watches++
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		if selected(c.objects[key]) {
			send(event{"ADDED", c.objects[key]})
		}
	}
	send(event{"BOOKMARK", object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{
		"resourceVersion": strconv.Itoa(max(1, c.version)), "annotations": object{"k8s.io/initial-events-end": "true"},
	}}})
	next, more := len(c.events), c.more
	c.mu.Unlock()
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		c.mu.Lock()
		for ; next < len(c.events); next++ {
			if selected(c.events[next].Object) {
				send(c.events[next])
			}
		}
		more = c.more
		c.mu.Unlock()
	}
}

func (c *configMaps) countWatches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches
}

func TestHelloControllerRunsUnchangedInTwoModulesWithOneWatch(t *testing.T) {
	wasm := guestOf(t, "../../examples", "./hello-controller")
	api := newConfigMaps()
	please := object{"metadata": object{"labels": object{"hello": "please"}}}
	api.put("n/web", please)
	api.put("n/other", object{})
	h, _ := run(t, api.ServeHTTP, host.Options{})
	for _, name := range []string{"one", "two"} {
		if err := h.Set(t.Context(), host.Module{Name: name, Binary: wasm, Namespace: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	greeted := func(key string) func(map[string]object) bool {
		return func(all map[string]object) bool {
			data, _ := all[key]["data"].(object)
			_, name, _ := strings.Cut(key, "/")
			return data["greeting"] == "hello, "+name
		}
	}
	api.await(t, "n/web is greeted", greeted("n/web"))
	api.put("n/web", object{"data": object{"greeting": "changed"}})
	api.await(t, "n/web is greeted again", greeted("n/web"))
	api.put("m/late", please)
	api.await(t, "m/late is greeted", greeted("m/late"))
	api.remove("m/late")
	api.put("m/late", please)
	api.await(t, "the next m/late is greeted", greeted("m/late"))
	for _, name := range []string{"one", "two"} { // the other one may have greeted alone
		await(t, h, name, func(s host.Status) bool { return s.Phase == host.Running && s.Stats.Watches == 1 })
	}
	if n := api.countWatches(); n != 1 {
		t.Errorf("the modules have %d watches, want a shared one", n)
	}
	for _, s := range h.Status() {
		if s.Failures != 0 {
			t.Errorf("module %s: %+v", s.Name, s)
		}
	}
}

// TestHelloControllerDoesNotCreateADeletedObject has an object that is deleted after the controller has read it, and
// before the server receives the apply.
func TestHelloControllerDoesNotCreateADeletedObject(t *testing.T) {
	api := newConfigMaps()
	please := object{"metadata": object{"labels": object{"hello": "please"}}}
	api.put("n/web", please)
	var first sync.Once
	applied := make(chan struct{}, 1)
	h, _ := run(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			first.Do(func() { api.remove("n/web") })
			defer func() {
				select {
				case applied <- struct{}{}:
				default:
				}
			}()
		}
		api.ServeHTTP(w, r)
	}, host.Options{})
	wasm := guestOf(t, "../../examples", "./hello-controller")
	if err := h.Set(t.Context(), host.Module{Name: "hello", Binary: wasm, Namespace: "n"}); err != nil {
		t.Fatal(err)
	}
	<-applied
	api.put("n/later", please)
	api.await(t, "n/later is greeted", func(all map[string]object) bool {
		data, _ := all["n/later"]["data"].(object)
		return data["greeting"] == "hello, later"
	})
	api.mu.Lock()
	web, exists := api.objects["n/web"]
	api.mu.Unlock()
	if exists {
		t.Errorf("the deleted object was created again: %v", web)
	}
	if s := h.Status(); s[0].Failures != 0 {
		t.Errorf("the module has failed: %+v", s[0])
	}
}

func TestProgramsRunAsGuests(t *testing.T) {
	wasm := guestOf(t, ".", "./testdata/kubeguest")
	start := func(t *testing.T, api *configMaps, args ...string) (*host.Host, *records) {
		t.Helper()
		h, log := run(t, api.ServeHTTP, host.Options{InitialBackoff: time.Millisecond, MaxFailures: 2})
		if err := h.Set(t.Context(), host.Module{Name: "a", Binary: wasm, Args: args, Namespace: "n"}); err != nil {
			t.Fatal(err)
		}
		return h, log
	}
	t.Run("a view reads the objects of the host", func(t *testing.T) {
		api := newConfigMaps()
		for i, color := range []string{"red", "blue"} {
			api.put("n/"+color, object{
				"metadata": object{"labels": object{"color": color}}, "data": object{"value": fmt.Sprint("v", i)},
			})
		}
		_, log := start(t, api, "objects")
		log.await(t, `msg="red name=red value=v0" module=a`)
		api.put("n/blue", object{"metadata": object{"labels": object{"color": "green"}}})
		log.await(t, "level=WARN", "type=MODIFIED name=blue old=true")
		api.remove("n/red")
		log.await(t, "type=DELETED name=red old=true")
	})
	t.Run("requests have the errors of the client", func(t *testing.T) {
		_, log := start(t, newConfigMaps(), "requests")
		log.await(t, "namespace=n missing=true", "not found", "deadline exceeded", "connection broke")
	})
	t.Run("options that a guest can't have are errors", func(t *testing.T) {
		_, log := start(t, newConfigMaps(), "options")
		log.await(t, "Options.Context", "Server is", "sets CAFile, BearerToken", "err=<nil>", "SnapshotDir")
		log.mu.Lock()
		defer log.mu.Unlock()
		if strings.Contains(log.text.String(), "hidden") {
			t.Error("the log has the token")
		}
	})
	t.Run("the owner of a deleted object runs", func(t *testing.T) {
		api := newConfigMaps()
		api.put("n/parent", object{"metadata": object{"labels": object{"role": "parent"}}})
		_, log := start(t, api, "owned")
		log.await(t, "the child exists")
		api.remove("n/child")
		api.await(t, "the child exists again", func(all map[string]object) bool { return all["n/child"] != nil })
	})
	t.Run("garbage is collected before the memory is stored", func(t *testing.T) {
		h, log := run(t, newConfigMaps().ServeHTTP, host.Options{IdleAfter: 50 * time.Millisecond})
		m := host.Module{Name: "a", Binary: wasm, Args: []string{"garbage"}, Namespace: "n"}
		if err := h.Set(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		log.await(t, "the garbage is collected")
	})
	t.Run("the garbage collector has the environment of the module", func(t *testing.T) {
		h, log := run(t, newConfigMaps().ServeHTTP, host.Options{MaxFailures: 1})
		m := host.Module{Name: "a", Binary: wasm, Args: []string{"collector"}, Env: map[string]string{
			"GOMEMLIMIT": "32MiB", "GOGC": "off",
		}}
		if err := h.Set(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		log.await(t, "limit=33554432 percent=-1")
		m.Env = map[string]string{"GOMEMLIMIT": "32M"}
		if err := h.Set(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		log.await(t, "GOMEMLIMIT is \\\"32M\\\"", "module is quarantined")
	})
	t.Run("a panic is a failure of the module", func(t *testing.T) {
		_, log := start(t, newConfigMaps(), "panic")
		log.await(t, "nil pointer dereference", "module has failed")
	})
	t.Run("the end of main is the end of the module", func(t *testing.T) {
		_, log := start(t, newConfigMaps(), "return")
		log.await(t, "exit_code(0)")
	})
}
