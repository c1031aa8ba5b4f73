// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status machine.Status `json:"status"`
}

func (*Database) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Database", Plural: "databases", Namespaced: true}
}

type (
	Provision struct{}
	Serve     struct{}

	fromProvision interface{ fromProvision() }
)

func (Serve) fromProvision() {}

func (Provision) Step(c *fsm.Ctx[Database], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
	if c.Obj.Name == "orders" {
		return to.Stay("waiting for replicas", time.Minute)
	}
	return to.Go(Serve{})
}

func (Serve) Step(_ *fsm.Ctx[Database], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func ExampleNew() {
	databases := (*Database)(nil).KubeResource()
	server := fakeapi.New(databases)
	db := &Database{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "users", UID: "1"}}
	db.ResourceVersion = server.Put(databases, db)

	m := fsm.New[Database](server.Client(), "example.com/database", nil)
	fsm.Add(m, Provision{}) // the first state is the initial one
	fsm.Add(m, Serve{})

	action, err := m.Reconcile(context.Background(), db) // a controller calls it
	fmt.Println(action, err)
	for _, c := range db.Status.Conditions {
		fmt.Println(c.Type, c.Status, c.Reason)
	}
	// Output:
	// await change <nil>
	// Provision True Completed
	// Serve True Completed
	// Ready True Completed
}

func ExampleMachine_Plan() {
	m := fsm.New[Database](fakeapi.New().Client(), "example.com/database", nil)
	fsm.Add(m, Provision{})
	fsm.Add(m, Serve{})

	for _, name := range []string{"users", "orders"} {
		db := &Database{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: "1"}}
		plan, err := m.Plan(context.Background(), db)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %v, done: %t, reason: %q\n", name, plan.States, plan.Done, plan.Reason)
	}
	// Output:
	// users: [Provision Serve], done: true, reason: ""
	// orders: [Provision], done: false, reason: "waiting for replicas"
}

func ExampleMachine_Graph() {
	m := fsm.New[Database](fakeapi.New().Client(), "example.com/database", nil)
	fsm.Add(m, Provision{})
	fsm.Add(m, Serve{})

	fmt.Print(m.Graph().Mermaid())
	// Output:
	// stateDiagram-v2
	//     [*] --> Provision
	//     Provision --> Serve
	//     Serve --> [*]
}

func ExampleMachine_Overview() {
	databases := (*Database)(nil).KubeResource()
	server := fakeapi.New(databases)
	server.Put(databases, &Database{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "orders", UID: "1"}})
	c := server.Client() // kube.NewClient(ctx, nil)

	m := fsm.New[Database](c, "example.com/database", nil)
	fsm.Add(m, Provision{})
	fsm.Add(m, Serve{})
	ctl := controller.New(controller.For[Database](cache.New(c, nil)), nil)

	ctx, stop := context.WithCancel(context.Background())
	_ = ctl.Run(ctx, func(ctx context.Context, db *Database) (controller.Action, error) {
		defer stop()
		action, err := m.Reconcile(ctx, db)
		for _, s := range m.Overview().States {
			fmt.Println(s.Name, s.Objects)
		}
		for p := range m.Positions() {
			fmt.Println(p.Key, p.State, p.Reason)
		}
		return action, err
	})
	// Output:
	// Provision 1
	// Serve 0
	// prod/orders Provision waiting for replicas
}
