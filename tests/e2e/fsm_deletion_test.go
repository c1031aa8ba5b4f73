// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/machine"
	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// Each state of an enclosure can be parked, and has an output.
type (
	fence     struct{}
	fromFence interface{ fromFence() }
	graze     struct{}
	fromGraze interface{ fromGraze() }
	shelter   struct{}

	herdOut     struct{}
	fromHerdOut interface{ fromHerdOut() }
	cleared     struct{}
)

const enclosure = "animals.example.com/enclosure"

func (graze) fromFence()     {}
func (shelter) fromGraze()   {}
func (cleared) fromHerdOut() {}

// Step declares the fence and a sign in another namespace.
func (fence) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromFence]) fsm.Result[fromFence] {
	c.Apply(output(c, "fence", "1"), farOutput(c, "sign", "1"))
	if parked(c, "fence") {
		return to.Stay("parked", 0)
	}
	return to.Go(graze{})
}

func (graze) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromGraze]) fsm.Result[fromGraze] {
	c.Apply(output(c, "grass", "1"))
	if parked(c, "graze") {
		return to.Stay("parked", 0)
	}
	return to.Go(shelter{})
}

func (shelter) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	c.Apply(output(c, "roof", "1"))
	return fsm.Done(to)
}

// Step begins the deletion: it declares a note, and deletes the fence.
func (herdOut) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromHerdOut]) fsm.Result[fromHerdOut] {
	c.Apply(farOutput(c, "note", "1"))
	c.Delete(configMap(c.Obj.Name+"-fence", ""))
	if parked(c, "herdOut") {
		return to.Stay("parked", 0)
	}
	return to.Go(cleared{})
}

func (cleared) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	if parked(c, "cleared") {
		return to.Stay("parked", 0)
	}
	return fsm.Done(to)
}

func newEnclosure(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	m := fsm.New[v1.Moose](c, enclosure, o)
	fsm.Add(m, fence{})
	fsm.Add(m, graze{})
	fsm.Add(m, shelter{})
	fsm.OnDelete(m, herdOut{})
	fsm.OnDelete(m, cleared{})
	return m
}

// deletes is a middleware that records the UIDs that deletions name, by the name of the object.
type deletes struct {
	mu   sync.Mutex // guards uids
	uids map[string]types.UID
}

func (d *deletes) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodDelete && req.Body != nil {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(body))
			var options metav1.DeleteOptions
			if err := json.Unmarshal(body, &options); err != nil {
				return nil, err
			}
			d.mu.Lock()
			if p := options.Preconditions; p != nil && p.UID != nil {
				d.uids[req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]] = *p.UID
			}
			d.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (d *deletes) of(name string) types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids[name]
}

// enclosed is the test of the deletion of one moose.
type enclosed struct {
	*ranch
	deletes *deletes
	name    string
}

// gone checks that the moose and the outputs, which had the UIDs, were deleted.
func (e *enclosed) gone(t *testing.T, uid types.UID, uids map[string]types.UID) {
	t.Helper()
	if err := kube.AwaitGone(limit(t), e.mooses, e.name, uid, nil); err != nil {
		t.Error(err)
	}
	e.wantOutputs(t, "after the deletion", e.name) // those with an owner reference would exist for a moment
	for name, uid := range uids {
		if got := e.deletes.of(e.name + "-" + strings.TrimPrefix(name, "far/")); got != uid {
			t.Errorf("%s of %s was deleted with the UID %q, want %s", name, e.name, got, uid)
		}
	}
}

// delete deletes the moose, which still exists then, because it has the finalizer.
func (e *enclosed) delete(t *testing.T) types.UID {
	t.Helper()
	moose, err := e.mooses.Get(limit(t), e.name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(moose.Finalizers, []string{enclosure}) {
		t.Errorf("the finalizers of %s are %v", e.name, moose.Finalizers)
	}
	if err := e.mooses.Delete(limit(t), e.name, nil); err != nil {
		t.Fatal(err)
	}
	return moose.UID
}

// enclosureStates are the states of an enclosure that is not deleted, with the outputs that it has in them.
func enclosureStates() map[string][]string {
	return map[string][]string{
		"fence":   {"fence=1", "far/sign=1"},
		"graze":   {"fence=1", "far/sign=1", "grass=1"},
		"shelter": {"fence=1", "far/sign=1", "grass=1", "roof=1"},
	}
}

// TestDeletionInEachState deletes objects in each state of a machine, also while they are suspended. Their outputs are
// deleted by UID before the finalizer is removed.
func TestDeletionInEachState(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			t.Parallel()
			r, d := newRanch(t, c), &deletes{uids: map[string]types.UID{}}
			r.keep(t, fsm.Options{Durable: durable}, newEnclosure, d.layer)
			for state, outputs := range enclosureStates() {
				e := &enclosed{r, d, "in-" + state}
				r.create(t, e.name, 1, map[string]string{"park": state})
				r.await(t, e.name, inState(state))
				uids := r.wantOutputs(t, "in the state "+state, e.name, outputs...)
				e.gone(t, e.delete(t), uids)
				for _, policy := range []machine.DeletionPolicy{machine.Wait, machine.Proceed} {
					testSuspendedDeletion(t, &enclosed{r, d, "suspended-" + state + "-" + strings.ToLower(string(policy))}, state, policy, outputs)
				}
			}
			for _, state := range []string{"herdOut", "cleared"} {
				testParkedDeletion(t, &enclosed{r, d, "in-" + strings.ToLower(state)}, state)
			}
		})
	}
}

// testParkedDeletion checks that a deleted moose stays in a state of the deletion until it may leave it.
func testParkedDeletion(t *testing.T, e *enclosed, state string) {
	t.Helper()
	e.create(t, e.name, 1, map[string]string{"park": state})
	e.await(t, e.name, isReady)
	uids := e.wantOutputs(t, "before the deletion", e.name, enclosureStates()["shelter"]...)
	uid := e.delete(t)
	e.await(t, e.name, inState(state))
	left := e.wantOutputs(t, "in the state "+state, e.name, "far/sign=1", "grass=1", "roof=1", "far/note=1")
	uids["far/note"] = left["far/note"]
	e.annotate(t, e.name, "park", nil)
	e.gone(t, uid, uids)
}

// testSuspendedDeletion checks the deletion of a moose that is suspended in a state. Meanwhile, somebody replaces one
// of its outputs, which is not deleted with the others.
func testSuspendedDeletion(t *testing.T, e *enclosed, state string, policy machine.DeletionPolicy, outputs []string) {
	t.Helper()
	e.create(t, e.name, 1, map[string]string{"park": state})
	e.await(t, e.name, inState(state))
	uids := e.wantOutputs(t, "in the state "+state, e.name, outputs...)
	suspended := new(v1.Moose)
	err := machine.Suspend(suspended, enclosure, machine.Suspension{Reason: "flood", By: "jane", WhenDeleted: policy})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range suspended.Annotations {
		e.annotate(t, e.name, key, value)
	}
	e.await(t, e.name, kube.StatusCondition[v1.Moose]("Suspended", metav1.ConditionTrue))

	maps, replaced := e.maps.In(e.ns), e.name+"-fence"
	if err := kube.DeleteAndWait(limit(t), maps, replaced, nil); err != nil {
		t.Fatal(err)
	}
	foreign, err := maps.Create(limit(t), configMap(replaced, "foreign"), nil)
	if err != nil {
		t.Fatal(err)
	}
	delete(uids, "fence")
	uid := e.delete(t)
	if policy == machine.Wait {
		// A moose that was created later is deleted first.
		later := &enclosed{e.ranch, e.deletes, e.name + "-later"}
		e.create(t, later.name, 1, map[string]string{"park": state})
		e.await(t, later.name, inState(state))
		later.gone(t, later.delete(t), nil)
		moose, err := e.mooses.Get(limit(t), e.name, nil)
		if err != nil || moose.DeletionTimestamp == nil {
			t.Fatalf("the suspended moose is %+v, %v", moose, err)
		}
		for name, uid := range uids {
			if _, now, err := e.outputs(limit(t), e.name); err != nil || now[name] != uid {
				t.Errorf("%s of %s has the UID %q, %v; want %s", name, e.name, now[name], err, uid)
			}
		}
		for key := range suspended.Annotations {
			e.annotate(t, e.name, key, nil)
		}
	}
	if err := kube.AwaitGone(limit(t), e.mooses, e.name, uid, nil); err != nil {
		t.Error(err)
	}
	left := e.wantOutputs(t, "after the deletion", e.name, "fence=foreign")
	if left["fence"] != foreign.UID {
		t.Errorf("the foreign object has the UID %s, want %s", left["fence"], foreign.UID)
	}
	for name, uid := range uids {
		if got := e.deletes.of(e.name + "-" + strings.TrimPrefix(name, "far/")); got != uid {
			t.Errorf("%s of %s was deleted with the UID %q, want %s", name, e.name, got, uid)
		}
	}
}
