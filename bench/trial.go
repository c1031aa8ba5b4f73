// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/core"
)

// trial is one way to do some work. It runs in its own process.
type trial struct {
	name   string
	server replay.Options // without Collections and Limit
	limit  int            // of the number of objects; 0: none
	fixed  int            // the number of objects, whatever -n is; 0: -n
	rounds int            // the most rounds of a trial that takes long; 0: no limit

	// stores returns the trial's server with some objects, if the trial writes. Such a server has no control. Otherwise it
	// is nil, and the server replays the collections.
	stores func(objects int) (http.Handler, error)

	run func(ctx context.Context, e *env) (values, error)
}

// values are the results of a trial by name.
type values map[string]float64

// objects returns the number of pods and of config maps of the trial, if -n is n.
func (t *trial) objects(n int) int {
	switch {
	case t.fixed > 0:
		return t.fixed
	case t.limit > 0:
		return min(n, t.limit)
	default:
		return n
	}
}

// env is the environment of a trial.
type env struct {
	size
	url     string // of the server
	control control
	profile func() error // writes a heap profile, if one was requested

	// wrap wraps the transports of the clients, unless it is nil.
	wrap func(http.RoundTripper) http.RoundTripper
}

// control changes and observes the server of a trial.
type control interface {
	// Touch changes an object: it sets the annotation replay.Sent.
	Touch(plural string, i int)
	// Watches returns the number of watches of a resource that were opened.
	Watches(plural string) int
}

// collections returns the objects of the server of a trial.
func collections(objs int) ([]*replay.Collection, error) {
	pods, err := core.ResourceOf[corev1.Pod]()
	if err != nil {
		return nil, err
	}
	nodes, err := core.ResourceOf[corev1.Node]()
	if err != nil {
		return nil, err
	}
	configMaps, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		return nil, err
	}
	return []*replay.Collection{
		replay.NewCollection(pods, objs, func(i int) replay.Object { return objects.Pod(i) }),
		replay.NewCollection(nodes, objects.Nodes, func(i int) replay.Object { return objects.Node(i) }),
		replay.NewCollection(configMaps, objs, func(i int) replay.Object { return objects.ConfigMap(i) }),
	}, nil
}

// cost is the mean cost of a call.
type cost struct{ time, cpu time.Duration }

// repeatFor calls do until the trial's time is over, and returns the mean cost of a call.
func (e *env) repeatFor(do func() error) (cost, error) {
	calls, start, used := time.Duration(0), time.Now(), cpu()
	for {
		if err := do(); err != nil {
			return cost{}, err
		}
		calls++
		if passed := time.Since(start); passed >= e.time {
			return cost{passed / calls, (cpu() - used) / calls}, nil
		}
	}
}

// measure stores the mean time of a call in seconds as a value, and its CPU time as the value with the suffix "-cpu".
func (e *env) measure(v values, name string, do func() error) error {
	took, err := e.repeatFor(do)
	v[name], v[name+"-cpu"] = took.time.Seconds(), took.cpu.Seconds()
	return err
}
