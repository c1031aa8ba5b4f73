// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// A depot prepares the carts that an annotation names, in parallel. A cart is packed and closed when further
// annotations name it.
type (
	loadCarts     struct{}
	fromLoadCarts interface{ fromLoadCarts() }
	leave         struct{}

	packCart     struct{}
	fromPackCart interface{ fromPackCart() }
	shutCart     struct{ Number int64 } // the number of carts that were packed by then
	fromShutCart interface{ fromShutCart() }
	fullCart     struct{ Number int64 }
)

func (leave) fromLoadCarts()   {}
func (shutCart) fromPackCart() {}
func (fullCart) fromShutCart() {}

// depotEnv is the environment of a depot.
type depotEnv struct {
	carts  *fsm.Group[v1.Moose, packCart]
	packed *atomic.Int64 // the number of packed carts, also by earlier programs
}

func (loadCarts) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromLoadCarts]) fsm.Result[fromLoadCarts] {
	starts := map[string]packCart{}
	for name := range strings.FieldsSeq(c.Obj.Annotations["carts"]) {
		starts[name] = packCart{}
	}
	children := fsm.Env[*depotEnv](c).carts.Run(c, starts)
	if wait, result := fsm.Join(to, children); wait {
		return result
	}
	var loads []string
	for name, cart := range fsm.Ended[fullCart](children) {
		loads = append(loads, fmt.Sprintf("%s=%d", name, cart.Number))
	}
	c.Obj.Status.Tag = strings.Join(loads, " ")
	return to.Go(leave{})
}

func (leave) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func (packCart) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromPackCart]) fsm.Result[fromPackCart] {
	c.Apply(output(c, "cart-"+c.Child(), "1"))
	if !slices.Contains(strings.Fields(c.Obj.Annotations["packed"]), c.Child()) {
		return to.Stay("it is empty", 0)
	}
	return to.Go(shutCart{fsm.Env[*depotEnv](c).packed.Add(1)})
}

func (s shutCart) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromShutCart]) fsm.Result[fromShutCart] {
	c.Apply(output(c, "seal-"+c.Child(), fmt.Sprint(s.Number)))
	if !slices.Contains(strings.Fields(c.Obj.Annotations["shut"]), c.Child()) {
		return to.Stay("it is open", 0)
	}
	return to.Go(fullCart(s))
}

func (fullCart) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

// depot returns the function that makes the machine.
func depot(packed *atomic.Int64) machineFunc {
	return func(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
		env := &depotEnv{packed: packed}
		o.Env, o.Durable = env, true
		m := fsm.New[v1.Moose](c, "animals.example.com/depot", o)
		fsm.Add(m, loadCarts{})
		fsm.Add(m, leave{})
		env.carts = fsm.NewGroup(m, "Cart", packCart{})
		fsm.Add(env.carts, shutCart{})
		fsm.Add(env.carts, fullCart{})
		return m
	}
}

// cartsAre is the condition that the children are in these states, such as "a:packCart", with their numbers.
func cartsAre(want ...string) func(*v1.Moose) error {
	return func(moose *v1.Moose) error {
		var got, conditions []string
		if p := moose.Status.FSM; p != nil {
			for name, child := range p.Children {
				cart := strings.TrimPrefix(name, "Cart.") + ":" + child.State
				var data struct{ Number int64 }
				if child.Data != nil && json.Unmarshal(child.Data.Raw, &data) == nil && data.Number > 0 {
					cart += fmt.Sprint(":", data.Number)
				}
				got = append(got, cart)
			}
		}
		for _, c := range moose.Status.Conditions {
			if name, ok := strings.CutPrefix(c.Type, "Cart."); ok {
				conditions = append(conditions, name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(conditions) != len(want) {
			return fmt.Errorf("the carts are %v with conditions of %v, want %v", got, conditions, want)
		}
		return nil
	}
}

// TestChildMachinesContinueAfterKills checks that each child of a group continues at its own state after the program
// was killed, that a passed state is not repeated, and that the outputs of children are kept as long as they should.
func TestChildMachinesContinueAfterKills(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r, number := newRanch(t, c), new(atomic.Int64)
	k := r.keep(t, fsm.Options{}, depot(number))
	r.create(t, "train", 1, map[string]string{"carts": "a b c"})
	r.await(t, "train", cartsAre("a:packCart", "b:packCart", "c:packCart"))
	r.annotate(t, "train", "packed", "a")
	r.await(t, "train", cartsAre("a:shutCart:1", "b:packCart", "c:packCart"))
	uids := r.wantOutputs(t, "one is packed", "train", "cart-a=1", "cart-b=1", "cart-c=1", "seal-a=1")

	k.kill(t)
	r.annotate(t, "train", "shut", "a")
	k = r.keep(t, fsm.Options{}, depot(number))
	r.await(t, "train", cartsAre("a:fullCart:1", "b:packCart", "c:packCart"))
	r.annotate(t, "train", "packed", "a b")
	moose := r.await(t, "train", cartsAre("a:fullCart:1", "b:shutCart:2", "c:packCart"))
	for typ, want := range map[string]string{
		"Cart.a": "True/Completed/", "Cart.b": "False/Waiting/shutCart: it is open", "Cart.c": "False/Waiting/packCart: it is empty",
		"Ready": "False/Waiting/loadCarts: b: it is open; c: it is empty",
	} {
		i := slices.IndexFunc(moose.Status.Conditions, func(c metav1.Condition) bool { return c.Type == typ })
		if i < 0 {
			t.Errorf("the condition %s is missing", typ)
		} else if c := moose.Status.Conditions[i]; string(c.Status)+"/"+c.Reason+"/"+c.Message != want {
			t.Errorf("the condition %s is %+v, want %s", typ, c, want)
		}
	}
	r.annotate(t, "train", "carts", "a b")
	r.await(t, "train", cartsAre("a:fullCart:1", "b:shutCart:2"))

	k.killer.at(1, true) // while the last pass deletes the output of the removed child
	r.annotate(t, "train", "shut", "a b")
	<-k.killer.dead
	if err := k.stop(); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	k = r.keep(t, fsm.Options{}, depot(number))
	moose = r.await(t, "train", isReady)
	if moose.Status.Tag != "a=1 b=2" || number.Load() != 2 {
		t.Errorf("the results are %q, and %d carts were packed", moose.Status.Tag, number.Load())
	}
	if err := cartsAre()(moose); err != nil {
		t.Error(err)
	}
	eventually(t, "the outputs of the removed child are deleted", r.exactly("train", "cart-a=1", "cart-b=1", "seal-a=1", "seal-b=2"))
	now := r.wantOutputs(t, "in the end", "train", "cart-a=1", "cart-b=1", "seal-a=1", "seal-b=2")
	for name, uid := range now {
		if was := uids[name]; was != "" && was != uid {
			t.Errorf("%s was created again", name)
		}
	}
	k.kill(t)
	r.steady(t, fsm.Options{}, depot(number))
}
