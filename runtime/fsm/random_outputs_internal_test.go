// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

// wild is a random machine whose states, and those of its children, declare secrets in two namespaces. What a state
// does depends on the generation of the object only, except that it may wait and fail until the world is calm.
type wild struct {
	seed   uint64
	random *rand.Rand
	calm   bool
	states int // without the terminal one
	group  *Group[animal, unborn]

	server *finalizing
	api    *client.API[animal] // never crashes

	sending sync.Mutex // held by RoundTrip: discovery sends two requests at once
	left    int        // requests until the next crash; negative: none
	writes  int
	die     context.CancelCauseFunc // ends the pass
}

// decision is what a state does for one generation of an object.
type decision struct {
	secrets  []string // that it declares, as "NAMESPACE/NAME"
	children []string
	next     int // the index of the next state, for one with the index 0
}

func (w *wild) decide(generation int64, part string) (d decision) {
	h := fnv.New64a()
	fmt.Fprint(h, generation, part)
	r := rand.New(rand.NewPCG(w.seed, h.Sum64()))
	name := strings.ToLower(strings.ReplaceAll(part, "/", "-"))
	for _, secret := range []string{"meadow/" + name + "-a", "meadow/" + name + "-b", "hill/" + name + "-a", "hill/" + name + "-b"} {
		if r.IntN(3) == 0 {
			d.secrets = append(d.secrets, secret)
		}
	}
	for _, child := range []string{"ada", "ben", "cleo"} {
		if r.IntN(2) == 0 {
			d.children = append(d.children, child)
		}
	}
	d.next = r.IntN(2)
	return d
}

// declare declares the secrets of a part. It returns an outcome if the state waits or fails.
func (w *wild) declare(c *Ctx[animal], part string) outcome {
	for _, s := range w.decide(c.Obj.Generation, part).secrets {
		ns, name, _ := strings.Cut(s, "/")
		obj := secret(name)
		obj.Namespace = ns
		c.Apply(inventory.Declaration{Object: obj})
	}
	switch {
	case w.calm || w.random.IntN(4) > 0:
		return outcome{}
	case w.random.IntN(2) == 0:
		return outcome{how: fails, err: errLabel("it fails")}
	}
	return outcome{how: stays, reason: "it waits"}
}

// machine returns the machine of a new program.
func (w *wild) machine(t *testing.T, durable bool) *Machine[animal] {
	t.Helper()
	c := fakeapi.ClientOf(w)
	m := New[animal](c, "example.com/wild", &Options{Durable: durable})
	typ := func(at int) reflect.Type { return reflect.ArrayOf(at, reflect.TypeFor[token]()) }
	for at := range w.states {
		s := &state[animal]{name: fmt.Sprint("S", at), typ: typ(at)}
		s.step = func(_ any, c *Ctx[animal]) outcome {
			out := w.declare(c, s.name)
			d := w.decide(c.Obj.Generation, s.name)
			if out.how == unset && at == 0 {
				out = w.raise(c, d.children)
			}
			if out.how == unset {
				out = outcome{how: goes, next: reflect.Zero(typ(w.next(at, d))).Interface()}
			}
			return out
		}
		for to := at + 1; to <= w.states; to++ {
			s.targets = append(s.targets, to)
		}
		s.steps.taken = make([]atomic.Uint64, len(s.targets))
		m.states = append(m.states, s)
	}
	m.states = append(m.states, &state[animal]{name: "End", typ: typ(w.states), step: func(_ any, c *Ctx[animal]) outcome {
		return outcome{how: ends, failed: c.Obj.Generation%2 == 0, reason: "it has failed"}
	}})
	w.group = NewGroup(m, "Calf", unborn{})
	Add(w.group, calf{})
	w.group.chart.states[0].step = func(_ any, c *Ctx[animal]) outcome {
		if out := w.declare(c, "young-"+c.Child()); out.how != unset {
			return out
		}
		return outcome{how: goes, next: calf{}}
	}
	w.group.chart.states[1].step = func(_ any, c *Ctx[animal]) outcome {
		if out := w.declare(c, "old-"+c.Child()); out.how != unset {
			return out
		}
		return outcome{how: ends}
	}
	w.group.chart.link()
	m.built.Do(func() { m.graph, m.version = graphOf(m), "1" })
	return m
}

// next returns the index of the state after another one.
func (w *wild) next(at int, d decision) int { return min(at+1+d.next, w.states) }

// raise runs the children.
func (w *wild) raise(c *Ctx[animal], names []string) outcome {
	starts := map[string]unborn{}
	for _, name := range names {
		starts[name] = unborn{name}
	}
	if wait, result := Join(To[fromStart]{}, w.group.Run(c, starts)); wait {
		return result.outcome
	}
	return outcome{}
}

// RoundTrip sends a request, unless the program crashes before it. The program may also crash after it.
func (w *wild) RoundTrip(req *http.Request) (*http.Response, error) {
	w.sending.Lock()
	defer w.sending.Unlock()
	if w.left == 0 {
		w.die(errCrash)
		return nil, errCrash
	}
	w.left--
	if kinds, ok := discovered[req.URL.Path]; ok {
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}},
			Body: io.NopCloser(strings.NewReader(
				`{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [` + kinds + `]}`)),
		}, nil
	}
	if req.Method != http.MethodGet {
		w.writes++
	}
	resp, err := w.server.RoundTrip(req)
	if err == nil && w.left == 0 && w.random.IntN(2) == 0 {
		_ = resp.Body.Close()
		w.die(errCrash)
		return nil, errCrash
	}
	return resp, err
}

// discovered is the kinds that the server has besides animals, by the path of the discovery.
var discovered = map[string]string{
	"/apis": "",
	"/api": `{"versions": [{"version": "v1", "resources": [{"resource": "secrets", "scope": "Namespaced", "responseKind":
		{"version": "v1", "kind": "Secret"}, "verbs": ["get", "list", "watch", "create", "patch", "delete"]}]}]}`,
}

var errCrash = errors.New("crash")

// pass makes a pass, and checks that the inventory has all secrets. It returns the object, or nil if it is gone.
func (w *wild) pass(t *testing.T, m *Machine[animal]) (obj *animal, err error) {
	t.Helper()
	ctx, die := context.WithCancelCause(t.Context())
	defer die(nil)
	w.die = die
	if obj, err = w.api.GetOrNil(t.Context(), "ox", nil); err != nil {
		t.Fatal(err)
	}
	if obj == nil {
		return nil, nil
	}
	_, err = m.Reconcile(ctx, obj)
	if obj, _ = w.api.GetOrNil(t.Context(), "ox", nil); obj == nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, item := range obj.Status.Inventory {
		listed[item.Namespace+"/"+item.Name] = true
	}
	for _, name := range w.secrets(t) {
		if !listed[name] {
			t.Errorf("%s exists and is not in the inventory %v, after %v", name, obj.Status.Inventory, err)
		}
	}
	return obj, err
}

// secrets returns the secrets that exist.
func (w *wild) secrets(t *testing.T) (all []string) {
	t.Helper()
	for s, err := range client.ClusterWide[corev1.Secret](fakeapi.ClientOf(w.server)).All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.Namespace+"/"+s.Name)
	}
	slices.Sort(all)
	return all
}

// want returns the secrets of a generation when the machine is done.
func (w *wild) want(generation int64) []string {
	all := map[string]bool{}
	add := func(part string) decision {
		d := w.decide(generation, part)
		for _, s := range d.secrets {
			all[s] = true
		}
		return d
	}
	for at := 0; at < w.states; {
		d := add(fmt.Sprint("S", at))
		for _, child := range d.children {
			if at == 0 {
				add("young-" + child)
				add("old-" + child)
			}
		}
		at = w.next(at, d)
	}
	return slices.Sorted(maps.Keys(all))
}

// TestRandomOutputsConverge crashes random machines with outputs and children at random requests, while the spec
// changes. No secret is ever lost, the machine ends with exactly the secrets of its last generation and then writes
// nothing, and a deletion leaves none.
func TestRandomOutputsConverge(t *testing.T) {
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newStore(t, "example.com/wild")
		w := &wild{seed: seed, random: random, states: 1 + random.IntN(4), server: &finalizing{server: s.server}, api: s.animals}
		durable := random.IntN(2) == 0
		m := w.machine(t, durable)
		change := func(change func(*animal)) (generation int64) {
			obj, err := s.animals.Get(t.Context(), "ox", nil)
			if err != nil {
				t.Fatal(err)
			}
			obj.Generation++
			change(obj)
			s.server.Put(s.animals.Resource(), obj)
			return obj.Generation
		}
		settle := func(what string, done func(*animal) bool) {
			w.calm, w.left = true, -1
			var err error
			for range 20 {
				var obj *animal
				if obj, err = w.pass(t, m); err == nil && done(obj) {
					return
				}
			}
			t.Errorf("%s is not reached: %v", what, err)
		}
		generation := int64(1)
		for range 15 {
			w.left = random.IntN(15)
			if _, err := w.pass(t, m); errors.Is(err, errCrash) {
				m = w.machine(t, durable)
			}
			if random.IntN(4) == 0 {
				generation = change(func(*animal) {})
			}
		}
		settle("the end", func(obj *animal) bool {
			return slices.ContainsFunc(obj.Status.Conditions, func(c metav1.Condition) bool {
				ended := c.Type == readyType || c.Type == stalledType
				return ended && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
			})
		})
		if got, want := w.secrets(t), w.want(generation); !slices.Equal(got, want) {
			t.Errorf("the secrets are %v, want %v", got, want)
		}
		before := w.writes
		if _, err := w.pass(t, w.machine(t, durable)); err != nil || w.writes > before {
			t.Errorf("a steady pass has written %d times: %v", w.writes-before, err)
		}
		change(func(obj *animal) { obj.DeletionTimestamp = new(metav1.NewTime(noon)) })
		settle("the deletion", func(obj *animal) bool { return obj == nil })
		if got := w.secrets(t); len(got) > 0 {
			t.Errorf("after the deletion, %v exist", got)
		}
		if t.Failed() {
			t.Fatalf("seed %d, durable %t, states %d", seed, durable, w.states)
		}
	}
}
