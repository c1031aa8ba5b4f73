// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// A camp has a tent until it is cleaned up.
type (
	pitch     struct{}
	fromPitch interface{ fromPitch() }
	cleanUp   struct{}

	fromCleanUp interface{ fromCleanUp() }
	tidy        struct{}
)

func (cleanUp) fromPitch() {}
func (tidy) fromCleanUp()  {}

func (pitch) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromPitch]) fsm.Result[fromPitch] {
	c.Apply(output(c, "tent", "1"), output(c, "path", "1"))
	if parked(c, "pitch") {
		return to.Stay("parked", 0)
	}
	return to.Go(cleanUp{})
}

func (cleanUp) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromCleanUp]) fsm.Result[fromCleanUp] {
	c.Delete(configMap(c.Obj.Name+"-tent", ""), configMap("of-others", ""))
	return to.Go(tidy{})
}

func (tidy) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func newCamp(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Durable = true
	m := fsm.New[v1.Moose](c, "animals.example.com/camp", o)
	fsm.Add(m, pitch{})
	fsm.Add(m, cleanUp{})
	fsm.Add(m, tidy{})
	return m
}

// TestDeleteWaitsAcrossKills checks that a state which deletes an output is not left until the output is gone, also if
// the program was killed meanwhile, and that only declared objects are deleted.
func TestDeleteWaitsAcrossKills(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	maps := r.maps.In(r.ns)
	foreign, err := maps.Create(limit(t), configMap("of-others", "1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(finalizers ...string) {
		t.Helper()
		patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
		if _, err := maps.Patch(limit(t), "camp-tent", patch, nil); err != nil {
			t.Fatal(err)
		}
	}
	k := r.keep(t, fsm.Options{}, newCamp)
	r.create(t, "camp", 1, map[string]string{"park": "pitch"})
	r.await(t, "camp", inState("pitch"))
	before := r.wantOutputs(t, "before", "camp", "path=1", "tent=1")
	hold("example.com/hold")
	r.annotate(t, "camp", "park", nil)
	waiting := func(moose *v1.Moose) error {
		want := "cleanUp: ConfigMap " + r.ns + "/camp-tent is being deleted"
		for _, c := range moose.Status.Conditions {
			if c.Type == "Ready" && c.Message == want {
				return inState("cleanUp")(moose)
			}
		}
		return fmt.Errorf("the conditions are %+v", moose.Status.Conditions)
	}
	r.await(t, "camp", waiting)
	k.kill(t)
	k = r.keep(t, fsm.Options{}, newCamp)
	eventually(t, "the program has looked", r.looked(k))
	r.await(t, "camp", waiting)
	tent, err := maps.Get(limit(t), "camp-tent", nil)
	if err != nil || tent.DeletionTimestamp == nil || tent.UID != before["tent"] {
		t.Errorf("the tent is %+v, %v", tent, err)
	}
	hold()
	moose := r.await(t, "camp", isReady)
	after := r.wantOutputs(t, "in the end", "camp", "path=1")
	if after["path"] != before["path"] || len(moose.Status.Inventory) != 1 || !strings.HasSuffix(moose.Status.Inventory[0].Name, "path") {
		t.Errorf("the path was %v and is %v; the inventory is %+v", before, after, moose.Status.Inventory)
	}
	if now, err := maps.Get(limit(t), "of-others", nil); err != nil || now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the object of others is %+v, %v", now, err)
	}
	k.kill(t)
	r.steady(t, fsm.Options{}, newCamp)
}
