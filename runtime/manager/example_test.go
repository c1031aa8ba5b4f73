// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/manager"
)

// task is a Runnable that is a function.
type task func(context.Context) error

func (f task) Run(ctx context.Context) error { return f(ctx) }

func ExampleNew() {
	c := newServer().Client() // kube.NewClient(ctx, nil)
	m := manager.New(c, &manager.Options{
		LeaderElection:  "shop",
		ElectionOptions: &election.Options{Namespace: "prod"}, // in a cluster, the default is that of the pod
		Logger:          discard,
	})
	ctx, stop := context.WithCancel(context.Background())
	m.Add(task(func(ctx context.Context) error { // in a program: a controller
		fmt.Println("this replica leads:", m.Leading())
		stop() // the program ends
		<-ctx.Done()
		return context.Cause(ctx)
	}))

	fmt.Println(m.Run(ctx))
	fmt.Println("this replica leads:", m.Leading())
	// Output:
	// this replica leads: true
	// <nil>
	// this replica leads: false
}

func ExampleManager_Run() {
	m := manager.New(newServer().Client(), &manager.Options{Logger: discard})
	m.AddToAll(task(func(ctx context.Context) error {
		<-ctx.Done()
		fmt.Println("the recorder of events ends")
		return context.Cause(ctx)
	}))
	m.Add(task(func(context.Context) error { return errors.New("the work has failed") }))

	fmt.Println(m.Run(context.Background()))
	// Output:
	// the recorder of events ends
	// manager_test.task: the work has failed
}
