// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
	"github.com/kube-go/sdk/runtime/inventory"
)

// A stable is the moose of another machine: it has as many bales of hay as its weight, and one in another namespace.
type (
	stock     struct{}
	fromStock interface{ fromStock() }
	stocked   struct{}
)

func (stocked) fromStock() {}

// storeroom is the namespace of the bale that has no owner reference.
const storeroom = "default"

// Step declares the bales.
func (stock) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromStock]) fsm.Result[fromStock] {
	for i := range c.Obj.Spec.Weight {
		c.Apply(inventory.Declaration{Object: configMap(fmt.Sprint("hay-", i), "first"), Wave: i})
	}
	far := configMap("hay-of-"+c.Obj.Namespace, "first")
	far.Namespace = storeroom
	c.Apply(inventory.Declaration{Object: far})
	return to.Go(stocked{})
}

// Step checks that the first bale exists.
func (stocked) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	bale := configMap("hay-0", "")
	switch exists, err := c.Get(bale); {
	case err != nil:
		return to.Retry(err)
	case !exists || bale.Data["v"] != fsm.Env[string](c):
		return to.Retry(fmt.Errorf("the first bale is %v, exists: %t", bale.Data, exists))
	}
	return fsm.Done(to)
}

func newStable(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Env = "first"
	m := fsm.New[v1.Moose](c, "animals.example.com/stable", o)
	fsm.Add(m, stock{})
	fsm.Add(m, stocked{})
	return m
}

// bales returns the bales of a stable.
func bales(ctx context.Context, c *kube.Client, ns string) ([]string, error) {
	var all []string
	for _, in := range []string{ns, storeroom} {
		for cm, err := range kube.Namespaced[corev1.ConfigMap](c, in).All(ctx, nil) {
			if err != nil {
				return nil, err
			}
			if name := strings.ReplaceAll(cm.Name, ns, "NS"); strings.HasPrefix(name, "hay-") && (in == ns || strings.Contains(name, "NS")) {
				all = append(all, name+"="+cm.Data["v"])
			}
		}
	}
	return slices.Sorted(slices.Values(all)), nil
}

// TestMachineKeepsItsOutputs checks that what a state declares exists while the machine is ready: also after others
// have changed or deleted it, that what it no longer declares is deleted, and that a deleted object leaves nothing
// behind.
func TestMachineKeepsItsOutputs(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			c := connect(t, nil)
			if err := life.Install(limit(t), c); err != nil {
				t.Fatal(err)
			}
			ns := newNamespace(t, c)
			mooses, maps := kube.Namespaced[v1.Moose](c, ns), kube.Namespaced[corev1.ConfigMap](c, ns)
			cache := newCache(t, c)
			view := kube.ViewOf[corev1.ConfigMap](cache, nil)
			m := newStable(c, &fsm.Options{Durable: durable, Views: []inventory.View{view}})
			ctl := kube.NewController(kube.ForView(kube.ViewOf[v1.Moose](cache, &kube.Selection{Namespace: ns})), nil).
				Owns(kube.SourceView(view))
			background(t, func(ctx context.Context) error { return ctl.Run(ctx, m.Reconcile) })
			want := func(what string, want ...string) {
				t.Helper()
				eventually(t, what, func(ctx context.Context) error {
					got, err := bales(ctx, c, ns)
					if err == nil && !slices.Equal(got, want) {
						err = fmt.Errorf("the bales are %v, want %v", got, want)
					}
					return err
				})
			}
			set := func(weight int) {
				t.Helper()
				patch := kube.MergePatch(map[string]any{"spec": map[string]any{"weight": weight}})
				if _, err := mooses.Patch(limit(t), "stable", patch, nil); err != nil {
					t.Fatal(err)
				}
			}
			stable := &v1.Moose{ObjectMeta: metav1.ObjectMeta{Name: "stable"}, Spec: v1.MooseSpec{Weight: 3}}
			if _, err := mooses.Create(limit(t), stable, nil); err != nil {
				t.Fatal(err)
			}
			want("all bales exist", "hay-0=first", "hay-1=first", "hay-2=first", "hay-of-NS=first")
			ready := kube.StatusCondition[v1.Moose]("Ready", metav1.ConditionTrue)
			moose, err := kube.Await(limit(t), mooses, "stable", ready, nil)
			if err != nil {
				t.Fatal(err)
			}
			if items := moose.Status.Inventory; len(items) != 4 || items[0].UID == "" || items[0].Part != "stock" {
				t.Errorf("the inventory is %+v", items)
			}
			if !durable { // a durable machine that is done does not repeat the state that has declared them
				remove(t, maps, "hay-1")
				if _, err := maps.Patch(limit(t), "hay-2", setValue("changed"), &kube.PatchOptions{FieldManager: "intruder"}); err != nil {
					t.Fatal(err)
				}
				want("they are repaired", "hay-0=first", "hay-1=first", "hay-2=first", "hay-of-NS=first")
			}
			set(1)
			want("the others are deleted", "hay-0=first", "hay-of-NS=first")
			if err := kube.DeleteAndWait(limit(t), mooses, "stable", nil); err != nil {
				t.Error(err)
			}
			want("nothing is left")
		})
	}
}

// TestMachineWithOutputsSurvivesEachCrash kills the program of a stable before and after each of its writes, from its
// creation over a change of its spec to its deletion. The durable machine is also killed at each of its reads.
func TestMachineWithOutputsSurvivesEachCrash(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			ns, ready := newNamespace(t, c), kube.StatusCondition[v1.Moose]("Ready", metav1.ConditionTrue)
			at := atWrites
			if durable {
				at = atRequests
			}
			fsmtest.Crash(t, fsmtest.Scenario[v1.Moose]{
				Connect: at(t, c),
				Stale:   true,
				Machine: func(c *kube.Client) *fsm.Machine[v1.Moose] { return newStable(c, &fsm.Options{Durable: durable}) },
				Create: func(tb testing.TB, c *kube.Client) *v1.Moose {
					tb.Helper()
					moose, err := kube.Namespaced[v1.Moose](c, ns).Create(tb.Context(), &v1.Moose{
						ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}, Spec: v1.MooseSpec{Weight: 2},
					}, nil)
					if err != nil {
						tb.Fatal(err)
					}
					return moose
				},
				Between: func(tb testing.TB, c *kube.Client, moose *v1.Moose) {
					tb.Helper()
					mooses := kube.Namespaced[v1.Moose](c, moose.Namespace)
					got, err := bales(tb.Context(), c, moose.Namespace)
					if err != nil {
						tb.Fatal(err)
					}
					switch all := strings.Join(got, " "); {
					case ready(moose) != nil || moose.DeletionTimestamp != nil:
					case all == "hay-0=first hay-1=first hay-of-NS=first":
						patch := kube.MergePatch(map[string]any{"spec": map[string]any{"weight": 1}})
						_, err = mooses.Patch(tb.Context(), moose.Name, patch, nil)
					case all == "hay-0=first hay-of-NS=first":
						err = mooses.Delete(tb.Context(), moose.Name, nil)
					}
					if err != nil {
						tb.Error(err)
					}
				},
				Done: func(moose *v1.Moose) bool { return moose == nil },
				Final: func(tb testing.TB, c *kube.Client, _ *v1.Moose) string {
					tb.Helper()
					left, err := bales(tb.Context(), c, ns)
					if err != nil {
						tb.Fatal(err)
					}
					return strings.Join(left, " ")
				},
			})
		})
	}
}

// TestPlanWritesNothing checks what a plan has for an object without outputs, and for one with too many of them.
func TestPlanWritesNothing(t *testing.T) {
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	ns := newNamespace(t, c)
	mooses, m := kube.Namespaced[v1.Moose](c, ns), newStable(c, &fsm.Options{})
	stable := &v1.Moose{ObjectMeta: metav1.ObjectMeta{Name: "stable"}, Spec: v1.MooseSpec{Weight: 2}}
	stable, err := mooses.Create(limit(t), stable, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(want ...string) {
		t.Helper()
		moose, err := mooses.Get(limit(t), "stable", nil)
		if err != nil {
			t.Fatal(err)
		}
		before, err := bales(limit(t), c, ns)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Plan(limit(t), moose)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range p.Actions {
			got = append(got, a.Verb+" "+strings.ReplaceAll(a.Item.Name, ns, "NS"))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || !slices.Equal(p.States, []string{"stock", "stocked"}) || !p.Done || p.Err != nil {
			t.Errorf("the plan is %+v with %v, want %v", p, got, want)
		}
		after, err := bales(limit(t), c, ns)
		now, getErr := mooses.Get(limit(t), "stable", nil)
		if err != nil || getErr != nil || !slices.Equal(before, after) || now.ResourceVersion != moose.ResourceVersion {
			t.Errorf("the plan has changed %v to %v, %v, %v", before, after, err, getErr)
		}
	}
	pass := func() {
		t.Helper()
		for range 5 { // ConfigMaps of higher waves follow in the same pass; a status that is stored needs another one
			moose, err := mooses.Get(limit(t), "stable", nil)
			if err == nil {
				_, err = m.Reconcile(limit(t), moose)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	plan("create hay-0", "create hay-1", "create hay-of-NS")
	pass()
	plan()
	patch := kube.MergePatch(map[string]any{"spec": map[string]any{"weight": 1}})
	if _, err := mooses.Patch(limit(t), "stable", patch, nil); err != nil {
		t.Fatal(err)
	}
	plan("delete hay-1")
	pass()
	plan()
	if err := mooses.Delete(limit(t), stable.Name, nil); err != nil {
		t.Fatal(err)
	}
	moose, err := mooses.Get(limit(t), "stable", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.Plan(limit(t), moose); err != nil || len(p.Actions) != 2 || p.Err != nil {
		t.Errorf("the plan of the deletion is %+v, %v", p, err)
	}
	eventually(t, "it is deleted", func(ctx context.Context) error {
		moose, err := mooses.GetOrNil(ctx, "stable", nil)
		if moose == nil || err != nil {
			return err
		}
		if _, err := m.Reconcile(ctx, moose); err != nil {
			return err
		}
		return fmt.Errorf("it still exists")
	})
}
