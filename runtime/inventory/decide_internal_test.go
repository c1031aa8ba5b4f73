// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/wire"
)

func TestDecide(t *testing.T) {
	known := machine.Item{UID: "u", Hash: "h"}
	tests := []struct {
		name  string
		adopt bool
		item  machine.Item
		live  *state
		want  action
	}{
		{"a new object", false, machine.Item{}, nil, create},
		{"an intent", false, machine.Item{Name: "a"}, nil, create},
		{"a deleted object", false, known, nil, create},
		{"an object as declared", false, known, &state{uid: "u", whose: ours, current: true}, keep},
		{"an object with another value", false, known, &state{uid: "u", whose: ours}, apply},
		{"another declaration", false, machine.Item{UID: "u", Hash: "old"}, &state{uid: "u", whose: ours, current: true}, apply},
		{"an object that a crashed pass has created", false, machine.Item{Name: "a"}, &state{uid: "u", whose: ours}, apply},
		{"an object that a crashed pass has created again", false, known, &state{uid: "v", whose: ours, current: true}, keep},
		{"an object without an item", false, machine.Item{}, &state{uid: "u", whose: ours}, apply},
		{"an object whose mark was removed", false, known, &state{uid: "u", whose: nobodys, current: true}, apply},
		{"an object that others have created again", false, known, &state{uid: "v", whose: nobodys}, refuse},
		{"an object of nobody", false, machine.Item{}, &state{uid: "v", whose: nobodys}, refuse},
		{"an object of nobody and an intent", false, machine.Item{Name: "a"}, &state{uid: "v", whose: nobodys}, refuse},
		{"an object of nobody to adopt", true, machine.Item{}, &state{uid: "v", whose: nobodys, current: true}, apply},
		{"an object of an earlier owner", false, known, &state{uid: "u", whose: formers}, refuse},
		{"an object of an earlier owner to adopt", true, machine.Item{}, &state{uid: "u", whose: formers}, apply},
		{"an object of another owner", false, known, &state{uid: "u", whose: others}, refuse},
		{"an object of another owner to adopt", true, machine.Item{}, &state{uid: "u", whose: others}, refuse},
		{"an object that is being deleted", false, known, &state{uid: "u", whose: ours, deleting: true, current: true}, await},
		{"an object of nobody that is being deleted", false, known, &state{uid: "v", deleting: true}, refuse},
		{"an object to adopt that is being deleted", true, machine.Item{}, &state{uid: "v", deleting: true}, await},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &declared{Declaration: Declaration{Adopt: tt.adopt}, hash: "h"}
			if got := decide(d, tt.item, tt.live); got != tt.want {
				t.Errorf("decide = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDecideRemoval(t *testing.T) {
	tests := []struct {
		name string
		uid  types.UID // of the item
		live *state
		want action
	}{
		{"an object that does not exist", "u", nil, forget},
		{"an intent without an object", "", nil, forget},
		{"an object", "u", &state{uid: "u", whose: ours}, remove},
		{"an object that a crashed pass has created", "", &state{uid: "u", whose: ours}, remove},
		{"an object that a crashed pass has created again", "u", &state{uid: "v", whose: ours}, remove},
		{"an object that is being deleted", "u", &state{uid: "u", whose: ours, deleting: true}, await},
		{"an object whose mark was removed", "u", &state{uid: "u", whose: nobodys}, remove},
		{"an object that others have created again", "u", &state{uid: "v", whose: nobodys}, forget},
		{"an intent and an object of nobody", "", &state{uid: "v", whose: nobodys}, forget},
		{"an object of an earlier owner", "u", &state{uid: "v", whose: formers}, forget},
		{"an object that others have taken over", "u", &state{uid: "u", whose: others}, forget},
		{"an object of others that is being deleted", "u", &state{uid: "v", whose: others, deleting: true}, forget},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := decideRemoval(machine.Item{UID: tt.uid}, tt.live); got != tt.want {
				t.Errorf("decideRemoval = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	tests := []struct {
		name           string
		live, declared string
		want           bool
	}{
		{"equal", `{"a": {"b": [1, "x", true, null]}}`, `{"a": {"b": [1, "x", true, null]}}`, true},
		{"more fields", `{"a": {"b": 1, "c": 2}, "d": 3}`, `{"a": {"b": 1}}`, true},
		{"a missing field", `{"a": {}}`, `{"a": {"b": 1}}`, false},
		{"another value", `{"a": "x"}`, `{"a": "y"}`, false},
		{"another type", `{"a": "1"}`, `{"a": 1}`, false},
		{"a map that is a string", `{"a": "x"}`, `{"a": {}}`, false},
		{"a string that is a map", `{"a": {}}`, `{"a": "x"}`, false},
		{"a list that is a map", `{"a": {}}`, `{"a": []}`, false},
		{"an integer as a float", `{"a": 1, "b": 2.0}`, `{"a": 1.0, "b": 2}`, true},
		{"different numbers", `{"a": 1.5}`, `{"a": 1}`, false},
		{"a declared null", `{}`, `{"a": null}`, true},
		{"a missing empty map", `{}`, `{"a": {}}`, false},
		{"a longer list", `{"a": [1, 2]}`, `{"a": [1]}`, false},
		{"another order", `{"a": [1, 2]}`, `{"a": [2, 1]}`, false},
		{"more fields in a list", `{"a": [{"port": 1, "protocol": "TCP"}]}`, `{"a": [{"port": 1}]}`, true},
		{
			"another order of named items", `{"a": [{"name": "x", "v": 1, "w": 1}, {"name": "y"}]}`,
			`{"a": [{"name": "y"}, {"name": "x", "v": 1}]}`, true,
		},
		{"another value of a named item", `{"a": [{"name": "x", "v": 1}]}`, `{"a": [{"name": "x", "v": 2}]}`, false},
		{"other names", `{"a": [{"name": "x"}, {"name": "y"}]}`, `{"a": [{"name": "x"}, {"name": "z"}]}`, false},
		{
			"equal names", `{"a": [{"name": "x", "v": 1}, {"name": "x", "v": 2}]}`,
			`{"a": [{"name": "x", "v": 2}, {"name": "x", "v": 1}]}`, false,
		},
		{"a quantity that the server has changed", `{"cpu": "1"}`, `{"cpu": "1000m"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live, declared := fields(t, tt.live), fields(t, tt.declared)
			if got := covers(live, declared); got != tt.want {
				t.Errorf("covers = %v, want %v", got, tt.want)
			}
		})
	}
}

// fields decodes a JSON object.
func fields(t *testing.T, data string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := wire.UnmarshalJSON([]byte(data), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestShapeHasOnlyDeclaredFields(t *testing.T) {
	shape := func(live, declared string) sum {
		s, err := shapeOf(fields(t, live), fields(t, declared))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const declared = `{"spec": {"cpu": "1000m", "list": [{"name": "a", "v": 1}], "only": "sent"}}`
	first := shape(`{"spec": {"cpu": "1", "list": [{"name": "a", "v": 1, "w": 1}]}, "status": 1}`, declared)
	if first != shape(`{"spec": {"cpu": "1", "list": [{"name": "a", "v": 1, "w": 2}], "other": 1}, "status": 2}`, declared) {
		t.Error("the shape depends on fields that are not declared")
	}
	for _, live := range []string{
		`{"spec": {"cpu": "2", "list": [{"name": "a", "v": 1}]}}`,
		`{"spec": {"cpu": "1", "list": [{"name": "a", "v": 2}]}}`,
		`{"spec": {"cpu": "1", "list": [{"name": "a", "v": 1}, {"name": "b"}]}}`,
		`{"spec": {"cpu": "1", "list": [{"name": "a", "v": 1}], "only": "sent"}}`,
		`{"spec": 1}`,
	} {
		if first == shape(live, declared) {
			t.Errorf("the shape does not change with %s", live)
		}
	}
}

// TestARefusalDoesNotNameTheUIDOfTheOwner checks how another owner is described to users, who may not read it.
func TestARefusalDoesNotNameTheUIDOfTheOwner(t *testing.T) {
	const rival = "prod/rival/5a0b3a0e-7a8f-4c1e-9a55-0f6f1f0a0b0c"
	o := &owner{
		reference: metav1.OwnerReference{Name: "site", UID: "1"}, namespace: "prod", mark: "example.com/a.owner",
	}
	for mark, want := range map[string]string{
		"example.com/a.owner": "the owner prod/rival", "example.com/b.owner": "the owner prod/rival of example.com/b",
	} {
		meta := &metav1.ObjectMeta{Annotations: map[string]string{mark: rival}}
		if whose, who := o.whose(meta); whose != others || who != want {
			t.Errorf("with the annotation %s, the object belongs to %q (%v), want %q", mark, who, whose, want)
		}
	}
}
