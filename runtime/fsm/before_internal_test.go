// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// plant has a status that can copy itself. The methods of plant itself would copy too little.
type plant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status plantStatus `json:"status"`
}

type plantStatus struct {
	machine.Status `json:",inline"`

	Leaves map[string]int `json:"leaves,omitempty"`
}

func (s *plantStatus) DeepCopyInto(out *plantStatus) {
	*out = plantStatus{Leaves: make(map[string]int)}
	s.Status.DeepCopyInto(&out.Status)
	maps.Copy(out.Leaves, s.Leaves)
}

func (p *plant) DeepCopyObject() runtime.Object {
	c := *p
	return &c
}

func (*plant) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Plant", Plural: "plants", Namespaced: true}
}

// grow is a state that changes the map and the conditions of the status in place.
type grow struct{}

func (grow) Step(c *Ctx[plant], to To[Terminal]) Result[Terminal] {
	c.Obj.Status.Leaves["oak"] = 7
	c.Obj.Status.Conditions[0].Message = c.Obj.Annotations["message"]
	return Done(to)
}

// TestChangesOfTheStatusInPlaceAreNoticed has a status with a method DeepCopyInto: only the status is copied.
func TestChangesOfTheStatusInPlaceAreNoticed(t *testing.T) {
	res, err := core.ResourceOf[plant]()
	if err != nil {
		t.Fatal(err)
	}
	server := fakeapi.New(res)
	m := New[plant](server.Client(), "example.com/plant", nil)
	Add(m, grow{})
	obj := &plant{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "oak", UID: "1", Generation: 1}}
	obj.Status.Leaves = map[string]int{"oak": 6}
	foreign := []metav1.Condition{{Type: "Foreign", Status: "True", Reason: "x"}}
	obj.Status.Conditions = slices.Clone(foreign)
	server.Put(res, obj)
	if _, err := m.Reconcile(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	stored, err := m.api.In("meadow").Get(t.Context(), "oak", nil)
	if err != nil || stored.Status.Leaves["oak"] != 7 {
		t.Fatalf("the stored status is %+v, %v, want 7 leaves", stored.Status, err)
	}
	stored.Status.Conditions = append(foreign, stored.Status.Conditions...)
	stored.Annotations = map[string]string{"message": "changed"}
	if _, err := m.Reconcile(t.Context(), stored); err == nil {
		t.Error("a Step that changes the condition of others has succeeded")
	}
}

// TestFlatTypes names the types of a status that an assignment copies.
func TestFlatTypes(t *testing.T) {
	type flat struct {
		machine.Status

		Text string
		Time metav1.Time
		List [2]struct{ Number int }
	}
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[machine.Status]():       true,
		reflect.TypeFor[flat]():                 true,
		reflect.TypeFor[plantStatus]():          false,
		reflect.TypeFor[struct{ P *int }]():     false,
		reflect.TypeFor[struct{ L [1][]int }](): false,
		reflect.TypeFor[struct{ I any }]():      false,
	} {
		if got := isFlat(typ); got != want {
			t.Errorf("isFlat(%v) = %v, want %v", typ, got, want)
		}
	}
}

// TestPositionsDifferInEachField changes each field of a position.
func TestPositionsDifferInEachField(t *testing.T) {
	values := map[reflect.Type]any{
		reflect.TypeFor[string]():           "x",
		reflect.TypeFor[int64]():            int64(1),
		reflect.TypeFor[bool]():             true,
		reflect.TypeFor[metav1.MicroTime](): metav1.NewMicroTime(noon),
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[machine.Position]()) {
		var a, b machine.Position
		field := reflect.ValueOf(&b).Elem().FieldByIndex(f.Index)
		switch value, ok := values[f.Type]; {
		case ok:
			field.Set(reflect.ValueOf(value))
		case f.Type.Kind() == reflect.Pointer:
			field.Set(reflect.New(f.Type.Elem()))
		case f.Type.Kind() == reflect.Map:
			field.Set(reflect.MakeMap(f.Type))
		default:
			field.Set(reflect.MakeSlice(f.Type, 1, 1))
		}
		if samePosition(&a, &b) || samePosition(&b, &a) || !samePosition(&b, &b) {
			t.Errorf("positions with different fields %s are the same, or equal ones are not", f.Name)
		}
	}
	if !samePosition(nil, nil) || samePosition(nil, new(machine.Position)) {
		t.Error("positions that are nil are not the same, or are the same as others")
	}
}
