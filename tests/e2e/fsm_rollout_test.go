// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// A roll-out has three parts, whose numbers begin at the weight of the moose. So a higher weight replaces parts and
// changes others. The states calm and serve have an output each.
type (
	assemble     struct{}
	fromAssemble interface{ fromAssemble() }
	calm         struct{ Weight int32 }
	fromCalm     interface{ fromCalm() }
	serving      struct{}
)

func (calm) fromAssemble() {}
func (serving) fromCalm()  {}

// Step declares the parts, one after the other, and one in another namespace.
func (assemble) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromAssemble]) fsm.Result[fromAssemble] {
	weight := c.Obj.Spec.Weight
	for i := weight; i < weight+3; i++ {
		d := output(c, fmt.Sprintf("part-%d", i), fmt.Sprint(weight))
		d.Wave = i - weight
		c.Apply(d)
	}
	c.Apply(farOutput(c, "whole", fmt.Sprint(weight)))
	return to.Go(calm{weight})
}

// Step waits for its output, so that a roll-out needs several passes. It does not wait for a time: each pass of a
// machine that is not durable would wait again.
func (s calm) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromCalm]) fsm.Result[fromCalm] {
	settled := output(c, "settled", fmt.Sprint(s.Weight))
	c.Apply(settled)
	switch exists, err := c.Get(configMap(settled.Object.GetName(), "")); {
	case err != nil:
		return to.Retry(err)
	case !exists:
		return to.Stay("settling", 20*time.Millisecond)
	}
	return to.Go(serving{})
}

// Step checks a part.
func (serving) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	weight := fmt.Sprint(c.Obj.Spec.Weight)
	part := configMap(c.Obj.Name+"-part-"+weight, "")
	switch exists, err := c.Get(part); {
	case err != nil:
		return to.Retry(err)
	case !exists:
		return to.Retry(errors.New("the first part does not exist"))
	}
	c.Apply(output(c, "served", weight))
	return fsm.Done(to)
}

func newRollout(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	m := fsm.New[v1.Moose](c, "animals.example.com/rollout", o)
	fsm.Add(m, assemble{})
	fsm.Add(m, calm{})
	fsm.Add(m, serving{})
	return m
}

// rolledOut returns the outputs of a moose after a roll-out.
func rolledOut(weight int32) []string {
	return []string{
		fmt.Sprintf("far/whole=%d", weight), fmt.Sprintf("part-%d=%d", weight, weight),
		fmt.Sprintf("part-%d=%d", weight+1, weight), fmt.Sprintf("part-%d=%d", weight+2, weight),
		fmt.Sprintf("served=%d", weight), fmt.Sprintf("settled=%d", weight),
	}
}

// checkRollout returns an error unless a moose is ready for its newest generation, its outputs are exactly those that
// it declares, and its inventory has them.
func (r *ranch) checkRollout(ctx context.Context, moose *v1.Moose) error {
	if err := isReady(moose); err != nil {
		return fmt.Errorf("%s: %w", moose.Name, err)
	}
	got, uids, err := r.outputs(ctx, moose.Name)
	if err != nil {
		return err
	}
	want := rolledOut(moose.Spec.Weight)
	if slices.Sort(want); !slices.Equal(got, want) {
		return fmt.Errorf("the outputs of %s are %v, want %v", moose.Name, got, want)
	}
	items := moose.Status.Inventory
	for _, item := range items {
		name := strings.TrimPrefix(item.Name, moose.Name+"-")
		if item.Namespace == r.far {
			name = "far/" + name
		}
		if item.UID == "" || item.UID != uids[name] {
			return fmt.Errorf("the item %+v of %s has not the UID %s", item, moose.Name, uids[name])
		}
	}
	if len(items) != len(want) {
		return fmt.Errorf("the inventory of %s is %+v, want %v", moose.Name, items, want)
	}
	return nil
}

// checkRollouts checks all mooses.
func (r *ranch) checkRollouts(ctx context.Context) error {
	list, err := r.mooses.List(ctx, nil)
	if err != nil {
		return err
	}
	for _, moose := range list.Items {
		if err := r.checkRollout(ctx, moose); err != nil {
			return err
		}
	}
	return nil
}

// heavier starts a roll-out of a moose.
func (r *ranch) heavier(t *testing.T, name string, weight int32) {
	t.Helper()
	patch := kube.MergePatch(map[string]any{"spec": map[string]any{"weight": weight}})
	if _, err := r.mooses.Patch(limit(t), name, patch, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRolloutsSurviveKills kills a program 20 times, before and after writes, while 20 objects roll out and their specs
// change. In the end, each object is ready and has exactly its outputs, each of which was created once, and nothing is
// left to write.
func TestRolloutsSurviveKills(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			t.Parallel()
			const objects, kills = 20, 20
			r, options := newRanch(t, c), fsm.Options{Durable: durable}
			near, far := recordBirths(t, r.maps.In(r.ns)), recordBirths(t, r.maps.In(r.far))
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the objects need no security
			weights := make([]int32, objects)
			name := func(i int) string { return fmt.Sprintf("m%02d", i) }
			for i := range weights {
				weights[i] = 1
				r.create(t, name(i), 1, nil)
			}
			for i := range kills {
				k := r.keep(t, options, newRollout)
				k.killer.at(1+random.IntN(60), i%2 == 0)
				for _, n := range random.Perm(objects)[:10] { // more writes follow
					weights[n]++
					r.heavier(t, name(n), weights[n])
				}
				select {
				case <-k.killer.dead:
				case <-limit(t).Done():
					t.Fatalf("kill %d: the program has no work", i)
				}
				if err := k.stop(); !errors.Is(err, errStopped) {
					t.Fatal(err)
				}
			}
			k := r.keep(t, options, newRollout)
			eventually(t, "everything has rolled out", r.checkRollouts)
			k.kill(t)
			r.steady(t, options, newRollout)
			if err := r.checkRollouts(limit(t)); err != nil {
				t.Error(err)
			}
			for i, weight := range weights {
				moose, err := r.mooses.Get(limit(t), name(i), nil)
				if err != nil || moose.Spec.Weight != weight {
					t.Errorf("%s = %+v, %v; want the weight %d", name(i), moose, err, weight)
				}
			}
			eventually(t, "all outputs were observed", func(context.Context) error {
				if n := len(near.names()) + len(far.names()); n < 6*objects {
					return fmt.Errorf("%d outputs, want at least %d", n, 6*objects)
				}
				return nil
			})
			for _, b := range []*births{near, far} {
				for _, name := range b.names() {
					if uids := b.of(name); len(uids) != 1 {
						t.Errorf("%s was created with the UIDs %v, want one", name, uids)
					}
				}
			}
		})
	}
}
