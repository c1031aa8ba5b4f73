// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

// queueFigures has a bar of 0.2 µs on a machine on which client-go's queue takes 0.15 µs. On others, the ratio counts.
func queueFigures() []*figure {
	var all []*figure
	for _, waiting := range []int{0, 10_000} {
		of := func(library string, open func() queue) *trial {
			return queueTrial(fmt.Sprintf("queue/%s-%d", library, waiting), waiting, open)
		}
		ours, classic := of("ours", ourQueue), of("client-go", workQueue)
		priorities := of("controller-runtime", priorityQueue)
		work := fmt.Sprintf("add, get, done; %d keys wait", waiting)
		all = append(all, &figure{
			name: "queue: " + work, unit: inUS, ours: value{"", ours, "time"},
			peers: []value{{"client-go", classic, "time"}, {"controller-runtime", priorities, "time"}}, bar: bar{ratio: 4.0 / 3},
		}, &figure{
			name: "queue: CPU of " + work, unit: inUS, ours: value{"", ours, "cpu"},
			peers: []value{{"client-go", classic, "cpu"}, {"controller-runtime", priorities, "cpu"}}, bar: bar{ratio: 1},
		})
	}
	return all
}

// queue is a queue with some keys, which are numbered.
type queue struct {
	add     func(i int)
	getDone func() error // gets a key, and marks it as done
	stop    func()
}

// queueKeys is the number of keys that are added in turn.
const queueKeys = 20_000

var errShutDown = errors.New("the queue was shut down")

// ourQueue adds keys with three priorities in turn. The causes are pointers, as in a controller.
func ourQueue() queue {
	keys := make([]controller.Key, queueKeys)
	for i := range keys {
		keys[i].Ref = core.ObjectRef{Namespace: "default", Name: fmt.Sprintf("object-%06d", i)}
	}
	priorities := []applier.Priority{applier.Low, applier.Normal, applier.High}
	q, cause := applier.New[controller.Key, *controller.Cause](nil), &controller.Cause{Type: controller.CauseModified}
	return queue{
		add: func(i int) { q.Add(keys[i%queueKeys], priorities[i%len(priorities)], cause) },
		getDone: func() error {
			item, err := q.Get(context.Background())
			q.Done(item.Key)
			return err
		},
		stop: q.Close,
	}
}

func requests() []reconcile.Request {
	keys := make([]reconcile.Request, queueKeys)
	for i := range keys {
		keys[i].NamespacedName = types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("object-%06d", i)}
	}
	return keys
}

func workQueue() queue {
	keys := requests()
	q := workqueue.NewTyped[reconcile.Request]()
	return queue{
		add: func(i int) { q.Add(keys[i%queueKeys]) },
		getDone: func() error {
			key, shutdown := q.Get()
			q.Done(key)
			if shutdown {
				return errShutDown
			}
			return nil
		},
		stop: q.ShutDown,
	}
}

// priorityQueue adds keys with three priorities in turn.
func priorityQueue() queue {
	keys, priorities := requests(), []int{-100, 0, 100}
	q := priorityqueue.New("bench", func(o *priorityqueue.Opts[reconcile.Request]) { o.Log = logr.Discard() })
	return queue{
		add: func(i int) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &priorities[i%len(priorities)]}, keys[i%queueKeys])
		},
		getDone: func() error {
			key, _, shutdown := q.GetWithPriority()
			q.Done(key)
			if shutdown {
				return errShutDown
			}
			return nil
		},
		stop: q.ShutDown,
	}
}

// queueTrial measures the time of an add, a get and a done, while other keys wait. It needs no server.
func queueTrial(name string, waiting int, open func() queue) *trial {
	return &trial{name: name, run: func(_ context.Context, e *env) (values, error) {
		q, next := open(), 0
		defer q.stop()
		turn := func() error {
			q.add(next)
			next++
			return q.getDone()
		}
		for range waiting {
			q.add(next)
			next++
		}
		const batch = 1000 // reading the clock takes time, too
		took, err := e.repeatFor(func() error {
			for range batch {
				if err := turn(); err != nil {
					return err
				}
			}
			return nil
		})
		return values{"time": took.time.Seconds() / batch, "cpu": took.cpu.Seconds() / batch}, err
	}}
}
