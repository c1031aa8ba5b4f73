// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

var errCrash = errors.New("crash")

// stored is an object of the model.
type stored struct {
	fields  map[string]any
	old     map[string]any    // an earlier state with the same UID, or of a deleted object, or nil
	applied map[string]string // the data that the applier owns
	before  map[string]string // the data that it owned in the earlier state
	foreign bool              // it was created by others
	holds   bool              // it has a finalizer
}

func (s *stored) u() *unstructured.Unstructured { return &unstructured.Unstructured{Object: s.fields} }

func (s *stored) deleting() bool { return s.u().GetDeletionTimestamp() != nil }

// keep keeps the state as the earlier one.
func (s *stored) keep() { s.old, s.before = copyFields(s.fields), s.applied }

// restore does what a restore of etcd from a backup does to an object: it has an earlier state with its version.
func (s *stored) restore() {
	if old := (&unstructured.Unstructured{Object: s.old}); !s.foreign && s.old != nil && old.GetUID() == s.u().GetUID() {
		s.fields, s.applied, s.old = s.old, s.before, nil
	}
}

// model is an API server without a network, and the store of the inventory.
type model struct {
	t       *testing.T
	random  *rand.Rand
	objects map[key]*stored
	items   []machine.Item // the stored inventory
	last    int            // the last UID and resource version
	left    int            // requests until the next crash; negative: none
	stale   bool           // objects are read from a view, which may be behind
	writes  int
}

// request does what a request does, unless the program crashes before it. The program may also crash after it.
func (m *model) request(do func()) error {
	if m.left == 0 {
		return errCrash
	}
	m.left--
	do()
	if m.left == 0 && m.random.IntN(2) == 0 {
		return errCrash
	}
	return nil
}

func (m *model) next() string {
	m.last++
	return strconv.Itoa(m.last)
}

func conflict() error {
	return &core.StatusError{Status: metav1.Status{Reason: metav1.StatusReasonConflict, Code: 409}}
}

func (m *model) read(_ context.Context, t *target, fresh bool) (found *object, err error) {
	err = m.request(func() {
		s := m.objects[t.key]
		switch {
		case s == nil:
		case !fresh && m.stale && s.old != nil && m.random.IntN(4) == 0:
			found = objectOf(copyFields(s.old))
		default:
			found = objectOf(copyFields(s.fields))
		}
		if found != nil && !fresh && m.stale {
			found.state = m.stateOf(found)
		}
	})
	return found, err
}

// stateOf returns the state of an object as a view has it.
func (m *model) stateOf(o *object) reflector.State {
	packed, err := wire.Pack(&unstructured.Unstructured{Object: o.fields}, wire.JSON)
	if err != nil {
		m.t.Fatal(err)
	}
	return reflector.StateOf(packed)
}

func copyFields(fields map[string]any) map[string]any {
	return (&unstructured.Unstructured{Object: fields}).DeepCopy().Object
}

func (m *model) apply(_ context.Context, t *target, content map[string]any, uid types.UID) (result *object, failed error) {
	err := m.request(func() {
		m.writes++
		s := m.objects[t.key]
		switch {
		case s == nil && uid != "", s != nil && uid != "" && s.u().GetUID() != uid:
			failed = conflict()
			return
		case s != nil && uid == "":
			m.t.Errorf("%v was applied as a new object, but exists: %v", t.key, s.fields)
			return
		case s != nil && s.foreign:
			m.t.Errorf("%v of others was changed: %v", t.key, s.fields)
			return
		case s == nil:
			s = &stored{fields: map[string]any{"metadata": map[string]any{"uid": m.next(), "name": t.ref.Name}}}
			m.objects[t.key] = s
		default:
			s.keep()
		}
		s.fields = merged(s.fields, copyFields(content))
		data, _, _ := unstructured.NestedStringMap(content, "data")
		all, _, _ := unstructured.NestedStringMap(s.fields, "data")
		for name := range s.applied {
			if _, ok := data[name]; !ok {
				delete(all, name)
			}
		}
		if err := unstructured.SetNestedStringMap(s.fields, all, "data"); err != nil {
			m.t.Fatal(err)
		}
		s.applied = data
		s.u().SetResourceVersion(m.next())
		result = objectOf(copyFields(s.fields))
	})
	if err != nil {
		return nil, err
	}
	return result, failed
}

func (m *model) delete(_ context.Context, t *target, uid types.UID, _ bool) (failed error) {
	err := m.request(func() {
		m.writes++
		s := m.objects[t.key]
		switch {
		case s == nil || s.u().GetUID() != uid:
			failed = conflict()
		case s.foreign:
			m.t.Errorf("%v of others was deleted", t.key)
		case s.deleting() && !m.stale:
			m.t.Errorf("%v was deleted twice", t.key)
		default:
			m.drop(t.key)
		}
	})
	return errors.Join(err, failed)
}

// drop deletes an object, which may have a finalizer.
func (m *model) drop(k key) {
	if s := m.objects[k]; s.holds {
		now := metav1.Now()
		s.u().SetDeletionTimestamp(&now)
		s.u().SetResourceVersion(m.next())
	} else {
		delete(m.objects, k)
	}
}

func (m *model) record(_ context.Context, items []machine.Item) error {
	return m.request(func() { m.items = slices.Clone(items) })
}

// disturb does what others may do to an object between passes.
func (m *model) disturb(k key) {
	s := m.objects[k]
	switch {
	case s == nil:
		if m.random.IntN(4) == 0 {
			m.objects[k] = m.foreign(k)
		}
	case s.deleting():
		delete(m.objects, k)
	default:
		switch m.random.IntN(6) {
		case 0:
			m.drop(k)
		case 1: // created again
			if s.holds {
				return
			}
			old := s.fields
			m.objects[k] = m.foreign(k)
			m.objects[k].old = old
		case 2:
			s.holds = !s.holds
		case 3:
			if s.foreign {
				delete(m.objects, k)
				return
			}
			s.keep()
			for name := range s.applied {
				s.fields["data"].(map[string]any)[name] = "changed"
			}
			s.fields["data"].(map[string]any)["others"] = "kept"
			s.u().SetResourceVersion(m.next())
		case 4:
			if s.foreign {
				delete(m.objects, k)
				return
			}
			if !slices.ContainsFunc(m.items, func(i machine.Item) bool { return i.UID == s.u().GetUID() }) {
				return // only the mark shows whose it is
			}
			s.keep()
			s.u().SetOwnerReferences(nil)
			s.u().SetAnnotations(nil)
			s.u().SetResourceVersion(m.next())
		case 5:
			s.restore()
		}
	}
}

func (m *model) foreign(k key) *stored {
	return &stored{foreign: true, fields: map[string]any{
		"metadata": map[string]any{"name": k.ref.Name, "namespace": k.ref.Namespace, "uid": m.next(), "resourceVersion": m.next()},
		"data":     map[string]any{"foreign": "yes"},
	}}
}

func (m *model) applier() *Applier {
	c, err := client.New(m.t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}})
	if err != nil {
		m.t.Fatal(err)
	}
	a := New(c, "example.com/model", nil)
	res, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		m.t.Fatal(err)
	}
	a.kinds.Store(kindOfModel(), res)
	return a
}

func modelOwner() core.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "owner", UID: "owner"}}
}

// pass makes one pass and stores the inventory. It returns what the pass waits for, or its error.
func (m *model) pass(a *Applier, wanted []Declaration) error {
	p := a.begin(modelOwner(), m.items)
	p.world, p.record = m, m.record
	waiting, err := p.Apply(m.t.Context(), wanted...)
	if err == nil && waiting == "" {
		waiting, err = p.Prune(m.t.Context(), nil)
	}
	if errors.Is(err, errCrash) {
		return err
	}
	if items := p.Items(); !slices.Equal(items, m.items) {
		if crash := m.record(m.t.Context(), items); crash != nil {
			return crash
		}
	}
	if err == nil && waiting != "" {
		err = errors.New(waiting)
	}
	return err
}

// declare returns a random set of declarations. No value is declared twice in a run.
func (m *model) declare() []Declaration {
	var wanted []Declaration
	for i, ns := range []string{"prod", "prod", "test", "test"} {
		if m.random.IntN(2) == 0 {
			continue
		}
		wanted = append(wanted, Declaration{
			Object: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("object-%d", i)},
				Data:       map[string]string{fmt.Sprintf("v%d", m.random.IntN(3)): m.next()},
			},
			Wave:    int32(m.random.IntN(3)),
			NoOwner: m.random.IntN(3) == 0,
		})
	}
	return wanted
}

// TestPassesConverge checks that passes that crash after any request lead to the declared objects, never touch objects
// of others, and create and delete nothing twice.
func TestPassesConverge(t *testing.T) {
	for seed := range uint64(500) {
		m := &model{t: t, random: rand.New(rand.NewPCG(seed, 1)), objects: make(map[key]*stored), left: -1}
		m.stale = seed%4 > 0
		a, wanted := m.applier(), m.declare()
		for range 12 {
			m.left = -1
			if m.random.IntN(2) == 0 {
				m.left = m.random.IntN(12)
			}
			if err := m.pass(a, wanted); errors.Is(err, errCrash) {
				a = m.applier()
			}
			if m.random.IntN(3) == 0 {
				wanted = m.declare()
			}
			for i, ns := range []string{"prod", "prod", "test", "test"} {
				if m.random.IntN(3) == 0 {
					m.disturb(key{kindOfModel(), core.ObjectRef{Namespace: ns, Name: fmt.Sprintf("object-%d", i)}})
				}
			}
		}
		m.settle(a, wanted)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestRestoredObjectsAreRepaired checks that an object with an older version is compared again, and that a view that is
// only behind does not cause an apply.
func TestRestoredObjectsAreRepaired(t *testing.T) {
	for _, view := range []bool{false, true} {
		t.Run(fmt.Sprintf("view: %v", view), func(t *testing.T) {
			m := &model{t: t, random: rand.New(rand.NewPCG(1, 1)), objects: make(map[key]*stored), left: -1, stale: view}
			a := m.applier()
			k := key{kindOfModel(), core.ObjectRef{Namespace: "prod", Name: "a"}}
			var wanted []Declaration
			for _, value := range []string{"first", "second"} {
				wanted = []Declaration{{Object: &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: k.ref.Name, Namespace: k.ref.Namespace}, Data: map[string]string{"v": value},
				}}}
				if err := m.pass(a, wanted); err != nil {
					t.Fatal(err)
				}
			}
			before := m.writes
			for range 20 { // some of which read the older state
				if err := m.pass(a, wanted); err != nil || m.writes != before {
					t.Fatalf("a pass over a steady state: %d writes, %v", m.writes-before, err)
				}
			}
			m.objects[k].restore()
			if err := m.pass(a, wanted); err != nil {
				t.Fatal(err)
			}
			m.check(wanted)
		})
	}
}

func kindOfModel() schema.GroupKind { return schema.GroupKind{Kind: "ConfigMap"} }

// settle removes what others have created, makes passes until nothing changes, and checks the result. Then the owner is
// deleted.
func (m *model) settle(a *Applier, wanted []Declaration) {
	m.left, m.stale = -1, false
	maps.DeleteFunc(m.objects, func(_ key, s *stored) bool { return s.foreign || s.deleting() })
	m.converge(a, wanted)
	m.check(wanted)
	for _, again := range []*Applier{a, m.applier()} { // also after a restart
		before := m.writes
		if err := m.pass(again, wanted); err != nil || m.writes != before {
			m.t.Errorf("a pass over a steady state: %d writes, %v", m.writes-before, err)
		}
	}
	m.converge(a, nil)
	m.check(nil)
	if len(m.items) > 0 {
		m.t.Errorf("the inventory is %v after the deletion", m.items)
	}
}

func (m *model) converge(a *Applier, wanted []Declaration) {
	var err error
	for range 20 {
		if err = m.pass(a, wanted); err == nil {
			return
		}
		maps.DeleteFunc(m.objects, func(_ key, s *stored) bool { return s.deleting() })
	}
	m.t.Errorf("the passes do not converge: %v", err)
}

// check compares the objects with the declared ones.
func (m *model) check(wanted []Declaration) {
	rest := maps.Clone(m.objects)
	for _, d := range wanted {
		cm := d.Object.(*corev1.ConfigMap)
		k := key{kindOfModel(), core.RefOf(cm)}
		s := rest[k]
		delete(rest, k)
		if s == nil {
			m.t.Errorf("%v does not exist", k)
			continue
		}
		data, _, _ := unstructured.NestedStringMap(s.fields, "data")
		delete(data, "others")
		if !maps.Equal(data, cm.Data) {
			m.t.Errorf("%v has %v, want %v", k, data, cm.Data)
		}
	}
	for k, s := range rest {
		m.t.Errorf("%v exists, but is not declared: %v", k, s.fields)
	}
}
