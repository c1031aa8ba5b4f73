// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/inventory"
)

// fakeOutputs records what steps declare.
type fakeOutputs struct {
	log     []string
	waiting string
	err     error
}

func (f *fakeOutputs) Get(context.Context, core.Object) (bool, error) { return false, nil }

func (f *fakeOutputs) Apply(_ context.Context, objects ...inventory.Declaration) (string, error) {
	for _, d := range objects {
		f.log = append(f.log, d.Part+" applies "+d.Object.GetName())
	}
	return f.waiting, f.err
}

func (f *fakeOutputs) Delete(_ context.Context, objects ...core.Object) (string, error) {
	for _, obj := range objects {
		f.log = append(f.log, "deletes "+obj.GetName())
	}
	return f.waiting, f.err
}

func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestOutputsOfAStep checks when the outputs of a step are applied, and how they change its result.
func TestOutputsOfAStep(t *testing.T) {
	for name, tc := range map[string]struct {
		out  fakeOutputs
		step outcome
		want outcome
		log  string
	}{
		"goes":           {step: outcome{how: goes, next: work{}}, want: outcome{how: ends}, log: "start applies a, deletes b"},
		"stays":          {step: outcome{how: stays, reason: "r"}, want: outcome{how: stays, reason: "r"}, log: "start applies a, deletes b"},
		"fails":          {step: outcome{how: fails, err: errLabel("e")}, want: outcome{how: fails, err: errLabel("e")}},
		"goes and waits": {fakeOutputs{waiting: "w"}, outcome{how: goes, next: work{}}, outcome{how: stays, reason: "w; w", delay: pruneDelay}, "start applies a, deletes b"},
		"stays and waits": {
			fakeOutputs{waiting: "w"},
			outcome{how: stays, reason: "r"},
			outcome{how: stays, reason: "r; w; w", delay: pruneDelay},
			"start applies a, deletes b",
		},
		"is idle": {
			step: outcome{how: stays, idle: true, reason: "r"}, want: outcome{how: stays, idle: true, reason: "r"},
			log: "start applies a, deletes b",
		},
		"is idle and waits": {
			fakeOutputs{waiting: "w"},
			outcome{how: stays, idle: true, reason: "r", delay: time.Hour},
			outcome{how: stays, reason: "w; w", delay: pruneDelay},
			"start applies a, deletes b",
		},
		"can't be applied": {fakeOutputs{err: errLabel("no")}, outcome{how: goes, next: work{}}, outcome{how: fails, err: errLabel("no")}, "start applies a"},
	} {
		t.Run(name, func(t *testing.T) {
			m, out := newMachine(t, nil), tc.out
			m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
				c.Apply(inventory.Declaration{Object: secret("a")})
				c.Delete(secret("b"))
				return tc.step
			}
			w := m.walk(&Ctx[animal]{Context: t.Context(), Obj: new(animal)}, nil, nil, 1, false, noon, &out)
			if w.end.how != tc.want.how || w.end.idle != tc.want.idle || w.end.reason != tc.want.reason || w.end.delay != tc.want.delay || w.end.err != tc.want.err {
				t.Errorf("the pass ends with %+v, want %+v", w.end, tc.want)
			}
			if log := strings.Join(out.log, ", "); log != tc.log {
				t.Errorf("the outputs are %q, want %q", log, tc.log)
			}
		})
	}
}

// TestOutputsOfChildrenAreTheirOwn checks that what a state declares before and after it runs its children is its own.
func TestOutputsOfChildrenAreTheirOwn(t *testing.T) {
	m, out := herd(t, &Options{Durable: true}), new(fakeOutputs)
	run := m.states[0].step
	m.states[0].step = func(v any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("before")})
		result := run(v, c)
		c.Apply(inventory.Declaration{Object: secret("after")})
		return result
	}
	birth := m.groups[0].states[0].step
	m.groups[0].states[0].step = func(v any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("bed")})
		return birth(v, c)
	}
	obj := new(animal)
	obj.Annotations = map[string]string{"calves": "a"}
	w := m.walk(&Ctx[animal]{Context: t.Context(), Obj: obj}, nil, nil, 1, false, noon, out)
	want := []string{"breed/Calf.a/unborn applies bed", "breed applies before", "breed applies after"}
	if !slices.Equal(out.log, want) {
		t.Errorf("the outputs are %q, want %q", out.log, want)
	}
	stepped, waiting := w.stepped, w.position
	for part, kept := range map[string][2]bool{ // after a pass that has called the step, and after one that has not
		"breed":               {false, true},
		"breed/Calf.a/unborn": {false, true},
		"breed/Calf.b/unborn": {false, true}, // a child that was removed: only the step can know
		"end":                 {false, false},
		"breed/Calf.a/calf":   {false, true},
		"":                    {false, false},
	} {
		for i, s := range []map[string]bool{stepped, {}} {
			w.stepped, w.position = s, waiting
			if got := w.keeps(machine.Item{Part: part}); got != kept[i] {
				t.Errorf("%q: keeps is %t, want %t (%v)", part, got, kept[i], s)
			}
		}
	}
}
