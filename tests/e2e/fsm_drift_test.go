// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// drift is what others have done to the outputs of a ranch.
type drift struct {
	*ranch
	durable bool
	weights map[string]int32
	deleted map[string]types.UID // outputs that were deleted, by the names of ConfigMaps
	changed map[string]types.UID // outputs whose declared fields were changed, and that have fields of others
}

// disturb changes and deletes outputs of all mooses, and starts new roll-outs of every second one. A durable machine
// repeats only its current state, so the outputs of its other states drift only before a roll-out.
func (d *drift) disturb(t *testing.T) {
	t.Helper()
	i := 0
	for name, weight := range d.weights {
		i++
		d.change(t, d.ns, name+"-served")
		if !d.durable || i%2 == 0 {
			d.change(t, d.ns, fmt.Sprintf("%s-part-%d", name, weight+2))
			d.change(t, d.far, name+"-whole")
			d.remove(t, fmt.Sprintf("%s-part-%d", name, weight+1))
		}
		if i%2 == 0 {
			d.weights[name]++
			d.heavier(t, name, d.weights[name])
		}
	}
}

// change changes the declared fields of an output, and adds fields of others.
func (d *drift) change(t *testing.T, ns, name string) {
	t.Helper()
	metadata := map[string]any{"labels": map[string]string{"foreign": "kept"}, "ownerReferences": nil}
	if ns == d.far {
		delete(metadata, "ownerReferences")
		metadata["annotations"] = map[string]any{"animals.example.com/rollout.owner": nil}
	}
	patch := kube.MergePatch(map[string]any{
		"metadata": metadata, "data": map[string]string{"v": "changed", "other": "kept"},
	})
	cm, err := d.maps.In(ns).Patch(limit(t), name, patch, &kube.PatchOptions{FieldManager: "intruder"})
	if err != nil {
		t.Fatal(err)
	}
	d.changed[name] = cm.UID
}

func (d *drift) remove(t *testing.T, name string) {
	t.Helper()
	cm, err := d.maps.In(d.ns).Get(limit(t), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.maps.In(d.ns).Delete(limit(t), name, &kube.DeleteOptions{UID: cm.UID}); err != nil {
		t.Fatal(err)
	}
	d.deleted[name] = cm.UID
	delete(d.changed, name)
}

// check returns an error unless all mooses have rolled out, with the declared fields and those of others.
func (d *drift) check(ctx context.Context) error {
	if err := d.checkRollouts(ctx); err != nil {
		return err
	}
	for _, ns := range []string{d.ns, d.far} {
		for cm, err := range d.maps.In(ns).All(ctx, nil) {
			if err == nil {
				err = d.checkOutput(ns, cm)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *drift) checkOutput(ns string, cm *corev1.ConfigMap) error {
	if d.deleted[cm.Name] == cm.UID {
		return fmt.Errorf("%s was not deleted", cm.Name)
	}
	uid, changed := d.changed[cm.Name]
	switch owner := metav1.GetControllerOf(cm); {
	case !changed:
	case uid != cm.UID:
		return fmt.Errorf("%s was replaced", cm.Name)
	case cm.Labels["foreign"] != "kept" || cm.Data["other"] != "kept":
		return fmt.Errorf("%s has lost the fields of others: %v, %v", cm.Name, cm.Labels, cm.Data)
	case ns == d.ns && owner == nil, ns == d.far && cm.Annotations["animals.example.com/rollout.owner"] == "":
		return fmt.Errorf("%s has no owner", cm.Name)
	}
	return nil
}

// TestRolloutsSurviveServerRestarts restarts the API server during roll-outs, and discards its history. Others change
// and delete outputs while the program can't reach the server, and while it does not run. Everything is repaired, and
// fields of others are kept.
func TestRolloutsSurviveServerRestarts(t *testing.T) {
	t.Parallel()
	s := newFaultyCluster(t)
	if err := life.Install(limit(t), s.direct); err != nil {
		t.Fatal(err)
	}
	const objects = 10
	link, through := newProxy(t, s.config)
	var all []*drift
	for _, durable := range []bool{false, true} {
		d := &drift{
			ranch: newRanch(t, s.direct), durable: durable,
			weights: map[string]int32{}, deleted: map[string]types.UID{}, changed: map[string]types.UID{},
		}
		d.config = through
		for i := range objects {
			name := fmt.Sprintf("m%02d", i)
			d.weights[name] = 1
			d.create(t, name, 1, nil)
		}
		all = append(all, d)
	}
	var keepers []*keeper
	start := func() {
		for _, d := range all {
			keepers = append(keepers, d.keep(t, fsm.Options{Durable: d.durable}, newRollout))
		}
	}
	settled := func(what string) {
		t.Helper()
		for _, d := range all {
			eventually(t, fmt.Sprintf("durable=%t: %s", d.durable, what), d.check)
		}
	}
	start()
	eventually(t, "the roll-outs have begun", func(ctx context.Context) error {
		list, err := all[1].maps.In(all[1].ns).List(ctx, nil)
		if err == nil && len(list.Items) < objects {
			err = fmt.Errorf("%d outputs", len(list.Items))
		}
		return err
	})
	s.restart(t, false)
	settled("after a restart during the first roll-out")

	link.cut()
	for _, d := range all {
		d.disturb(t)
	}
	s.restart(t, true)
	link.restore()
	settled("after changes that the program could not see")

	for _, k := range keepers {
		k.kill(t)
	}
	for _, d := range all {
		d.disturb(t)
	}
	start()
	settled("after changes while the program did not run")
	for _, k := range keepers {
		if err := k.stop(); !errors.Is(err, errStopped) {
			t.Error(err)
		}
	}
	for _, d := range all {
		d.steady(t, fsm.Options{Durable: d.durable}, newRollout)
	}
}

// TestDriftInAnotherNamespaceIsRepaired checks that an object without an owner reference starts a pass of its owner
// when others change it, delete it, or remove the annotation of its owner.
func TestDriftInAnotherNamespaceIsRepaired(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	d := &drift{
		ranch: newRanch(t, c), weights: map[string]int32{"m": 1}, deleted: map[string]types.UID{}, changed: map[string]types.UID{},
	}
	d.watchFar = "animals.example.com/rollout"
	k := d.keep(t, fsm.Options{}, newRollout)
	d.create(t, "m", 1, nil)
	eventually(t, "the roll-out is done", d.check)
	eventually(t, "the program has no work", d.looked(k))

	d.change(t, d.far, "m-whole")
	eventually(t, "the object is repaired after a change", d.check)
	whole, err := d.maps.In(d.far).Get(limit(t), "m-whole", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.maps.In(d.far).Delete(limit(t), "m-whole", &kube.DeleteOptions{UID: whole.UID}); err != nil {
		t.Fatal(err)
	}
	d.deleted["m-whole"] = whole.UID
	delete(d.changed, "m-whole")
	eventually(t, "the object is created again", d.check)
}
