// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"maps"
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
