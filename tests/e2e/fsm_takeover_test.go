// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// shear is a state that clears what earlier programs have written to the status.
type shear struct{}

func (shear) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	c.Obj.Status.Tag = ""
	c.Apply(output(c, "wool", "1"))
	return fsm.Done(to)
}

func shearing(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Conditions = []string{"Legacy"}
	m := fsm.New[v1.Moose](c, "animals.example.com/shearing", o)
	fsm.Add(m, shear{})
	return m
}

// TestMachineReplacesAPlainReconcile checks that a machine takes over objects whose status a plain reconcile has
// written: what a step clears is removed, conditions of others stay, and steady passes write nothing.
func TestMachineReplacesAPlainReconcile(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	r.create(t, "ox", 1, nil)
	moose := r.await(t, "ox", func(*v1.Moose) error { return nil })
	moose.Status.Tag, moose.Status.Weight = "old", 7
	for _, typ := range []string{"Ready", "Legacy", "Foreign"} {
		moose.Status.Conditions = append(moose.Status.Conditions, metav1.Condition{
			Type: typ, Status: metav1.ConditionFalse, Reason: "Old", LastTransitionTime: metav1.Now(),
		})
	}
	if _, err := r.mooses.Status().Update(limit(t), moose, &kube.UpdateOptions{FieldManager: "plain"}); err != nil {
		t.Fatal(err)
	}
	k := r.keep(t, fsm.Options{}, shearing)
	s := r.await(t, "ox", func(moose *v1.Moose) error {
		if moose.Status.Tag != "" { // a second write removes it
			return fmt.Errorf("the tag is %q", moose.Status.Tag)
		}
		return isReady(moose)
	}).Status
	var conditions []string
	for _, c := range s.Conditions {
		conditions = append(conditions, c.Type)
	}
	slices.Sort(conditions)
	if got := strings.Join(conditions, " "); s.Weight != 7 || got != "Foreign Ready shear" {
		t.Errorf("the weight is %d, the conditions are %s", s.Weight, got)
	}
	k.kill(t)
	r.steady(t, fsm.Options{}, shearing)
}

// TestMachineSurvivesGarbageInItsStatus writes positions and inventories to the status that no machine writes. Each
// object becomes ready, and has exactly its outputs.
func TestMachineSurvivesGarbageInItsStatus(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	now := time.Now().UTC()
	at := func(t time.Time) string { return t.Format("2006-01-02T15:04:05.000000Z") }
	history := make([]any, 10_000)
	for i := range history {
		history[i] = map[string]any{"state": "plough", "since": at(now)}
	}
	position := func(fields map[string]any) map[string]any {
		p := map[string]any{"state": "grow", "since": at(now), "generation": 1, "visits": map[string]any{"grow": 1}}
		maps.Copy(p, fields)
		return map[string]any{"fsm": p}
	}
	item := func(fields map[string]any) map[string]any {
		i := map[string]any{"version": "v1", "kind": "ConfigMap", "namespace": r.ns, "name": "garbage"}
		maps.Copy(i, fields)
		return map[string]any{"inventory": []any{i}}
	}
	cases := map[string]map[string]any{
		"state":     position(map[string]any{"state": "No such state"}),
		"empty":     position(map[string]any{"state": ""}),
		"data":      position(map[string]any{"data": map[string]any{"Days": "seven"}}),
		"huge":      position(map[string]any{"data": map[string]any{"Rubbish": strings.Repeat("x", 300_000)}}),
		"history":   position(map[string]any{"state": "plough", "history": history}),
		"visits":    position(map[string]any{"visits": map[string]any{"grow": math.MinInt32, "none": math.MaxInt32}}),
		"children":  position(map[string]any{"children": map[string]any{"None.a": map[string]any{"state": "x", "since": at(now)}}}),
		"future":    position(map[string]any{"since": at(now.AddDate(1000, 0, 0)), "generation": 99}),
		"past":      position(map[string]any{"since": "0001-01-01T00:00:00.000000Z"}),
		"version":   position(map[string]any{"version": "@@"}),
		"kind":      item(map[string]any{"kind": "NoSuchKind", "group": "none.example.com"}),
		"nameless":  item(map[string]any{"name": ""}),
		"nowhere":   item(map[string]any{"namespace": ""}),
		"elsewhere": item(map[string]any{"namespace": "no-such-namespace", "uid": "x", "part": "a/b/c/d"}),
		"foreign":   item(map[string]any{"kind": "Namespace", "namespace": "", "name": r.ns}),
		"conditions": {"conditions": []any{map[string]any{
			"type": "Ready", "status": "Unknown", "reason": "x", "message": "", "lastTransitionTime": "0001-01-01T00:00:00Z",
		}}},
	}
	for name, status := range cases {
		r.create(t, name, 43, nil)
		patch := kube.MergePatch(map[string]any{"status": status})
		if _, err := r.mooses.Status().Patch(limit(t), name, patch, &kube.PatchOptions{FieldManager: "vandal"}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	k := r.keep(t, fsm.Options{}, fieldVersion1)
	for name := range cases {
		_, err := kube.Await(limit(t), r.mooses, name, func(moose *v1.Moose) error {
			p := moose.Status.FSM
			if p != nil && (p.State != "reap" || len(p.History) > 5 || p.Data != nil || len(p.Children) > 0) {
				return fmt.Errorf("the position is %+v", p)
			}
			return isReady(moose)
		}, nil)
		if err != nil {
			t.Errorf("%s: %.2000v", name, err)
		}
	}
	eventually(t, "the program has no work", r.looked(k)) // a second write removes fields of others
	k.kill(t)
	r.steady(t, fsm.Options{}, fieldVersion1)
}
