// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	peercache "sigs.k8s.io/controller-runtime/pkg/cache"
	peer "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

func startFigures() []*figure {
	slow, large := slowMapTrial("start/ours"), largeStartTrial("start/large")
	return []*figure{
		{
			name: "watches for 3 Go types of pods", unit: inCount, ours: value{"", ourWatches("watches/ours"), "watches"},
			peers: []value{{"controller-runtime", peerWatches("watches/controller-runtime"), "watches"}}, bar: bar{limit: 1},
		},
		{
			name: "start with 100,000 objects and a mapper of 300 ms: p99 of events of the reconciled kind", unit: inMS,
			ours: value{"", slow, "primary"}, bar: bar{limit: 0.1},
		},
		{
			name: "start with 100,000 objects and a mapper of 300 ms: p99 of mapped events, without the mapper", unit: inMS,
			ours: value{"", slow, "mapped"}, bar: bar{limit: 0.1},
		},
		{
			name: "start with 100,000 objects of the reconciled kind: p99 of its events", unit: inMS,
			ours: value{"", large, "primary"}, bar: bar{limit: 0.1},
		},
	}
}

// ourWatches counts the watches for three Go types, of which two have two users.
func ourWatches(name string) *trial {
	return &trial{name: name, limit: someObjects, run: func(ctx context.Context, e *env) (values, error) {
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		res, err := core.ResourceOf[corev1.Pod]()
		if err != nil {
			return nil, err
		}
		shared := cache.New(c, nil)
		for _, v := range []contender{
			view[corev1.Pod]{cache.Of[corev1.Pod](shared, nil)},
			view[corev1.Pod]{cache.Of[corev1.Pod](shared, nil)},
			view[leanPod]{cache.Of[leanPod](shared, nil)},
			view[leanPod]{cache.Of[leanPod](shared, nil)},
			view[metav1.PartialObjectMetadata]{cache.OfResource[metav1.PartialObjectMetadata](shared, res, nil)},
		} {
			stop, err := synced(ctx, e, v)
			if err != nil {
				return nil, err
			}
			defer stop()
		}
		return values{"watches": float64(e.control.Watches("pods"))}, nil
	}}
}

// peerWatches counts the watches for the same types in a cache of controller-runtime, which has no lean types, but
// unstructured objects.
func peerWatches(name string) *trial {
	return &trial{name: name, limit: someObjects, run: func(ctx context.Context, e *env) (values, error) {
		m, err := newManager(e)
		if err != nil {
			return nil, err
		}
		r := start(ctx, m.Start)
		defer r.stop()
		gvk := corev1.SchemeGroupVersion.WithKind("Pod")
		metadata, anything := &metav1.PartialObjectMetadata{}, &unstructured.Unstructured{}
		metadata.SetGroupVersionKind(gvk)
		anything.SetGroupVersionKind(gvk)
		for _, obj := range []peer.Object{&corev1.Pod{}, &corev1.Pod{}, metadata, anything} {
			if _, err := m.GetCache().GetInformer(ctx, obj, peercache.BlockUntilSynced(false)); err != nil {
				return nil, err
			}
		}
		if !m.GetCache().WaitForCacheSync(ctx) {
			return nil, errors.New("the informers are not synced")
		}
		return values{"watches": float64(e.control.Watches("pods"))}, nil
	}}
}

// mappedPod is a pod that was mapped after its change, and the value of its annotation replay.Sent.
type mappedPod struct {
	ref  core.ObjectRef
	sent string
}

const (
	startObjects = 100_000                // in the trials of a start
	mapping      = 300 * time.Millisecond // of a call of the mapper
	touches      = 100                    // changed objects
	touchPause   = 20 * time.Millisecond  // between changes of the reconciled kind

	waitForEvents = 5 * time.Second // after the last change
)

// slowMapTrial starts a controller of nodes that maps all pods with a function that takes 300 ms. When both caches are
// synced, it changes nodes and pods, and measures the time until their reconciles start. An event that has not arrived
// some seconds after the last change counts with the time that the trial has waited for it.
// The times of the calls of the mapper are subtracted: one call for each state of the changed pod.
func slowMapTrial(name string) *trial {
	const mappedPause = 200 * time.Millisecond // 4 of the 8 workers of the mapper make 6.7 pairs of calls a second
	return &trial{name: name, fixed: startObjects, rounds: 3, run: func(ctx context.Context, e *env) (values, error) {
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		shared := cache.New(c, nil)
		nodes, all := cache.Of[corev1.Node](shared, nil), cache.Of[corev1.Pod](shared, nil)
		primary, mapped := newLatencies(touches), newLatencies(touches)
		var mu sync.Mutex // guards the variables below
		sent, calls := map[core.ObjectRef][]mappedPod{}, map[core.ObjectRef][]time.Time{}
		slow := controller.SourceView(all).Map(func(ctx context.Context, pod *corev1.Pod) ([]core.ObjectRef, error) {
			began := time.Now()
			select {
			case <-time.After(mapping):
			case <-ctx.Done():
			}
			ref := core.ObjectRef{Name: pod.Spec.NodeName}
			mu.Lock()
			defer mu.Unlock()
			calls[core.RefOf(pod)] = append(calls[core.RefOf(pod)], began)
			if s := pod.Annotations[replay.Sent]; s != "" {
				sent[ref] = append(sent[ref], mappedPod{core.RefOf(pod), s})
			}
			return []core.ObjectRef{ref}, nil
		})
		ctl := controller.New(controller.ForView(nodes), quiet(0)).Watches(slow)
		seen := map[string]bool{}
		r := start(ctx, func(ctx context.Context) error {
			return ctl.Run(ctx, func(_ context.Context, node *corev1.Node) (controller.Action, error) {
				now := time.Now()
				mu.Lock()
				defer mu.Unlock()
				if s := node.Annotations[replay.Sent]; s != "" && !seen[s] {
					seen[s] = true
					if err := primary.addSince(s, now); err != nil {
						return controller.Action{}, err
					}
				}
				for _, p := range sent[core.RefOf(node)] {
					reached := now
					touched, err := strconv.ParseInt(p.sent, 10, 64)
					if err != nil {
						return controller.Action{}, err
					}
					for _, began := range calls[p.ref] {
						if began.UnixNano() >= touched {
							reached = reached.Add(-mapping)
						}
					}
					if err := mapped.addSince(p.sent, reached); err != nil {
						return controller.Action{}, err
					}
				}
				delete(sent, core.RefOf(node))
				return controller.AwaitChange(), nil
			})
		})
		defer r.stop()
		for _, ready := range []func(context.Context) error{nodes.Ready, all.Ready} {
			if err := ready(ctx); err != nil {
				return nil, err
			}
		}
		var touching sync.WaitGroup
		touching.Go(func() { _ = touchEvery(ctx, e, "nodes", touches, touchPause) })
		_ = touchEvery(ctx, e, "pods", touches, mappedPause) // an end of ctx shows below
		touching.Wait()
		primary.wait(waitForEvents)
		mapped.wait(waitForEvents)
		return values{"primary": primary.quantile(0.99), "mapped": mapped.quantile(0.99)}, ctx.Err()
	}}
}

// largeStartTrial starts a controller of 100,000 pods, which also maps the nodes with a function that takes 300 ms.
// When both caches are synced, it changes pods, and measures the time until their reconciles start: they must overtake
// the first runs of all pods.
func largeStartTrial(name string) *trial {
	return &trial{name: name, fixed: startObjects, run: func(ctx context.Context, e *env) (values, error) {
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		shared := cache.New(c, nil)
		nodes, pods := cache.Of[corev1.Node](shared, nil), cache.Of[corev1.Pod](shared, nil)
		primary := newLatencies(touches)
		var seen sync.Map // the values of replay.Sent
		slow := controller.SourceView(nodes).Map(func(ctx context.Context, _ *corev1.Node) ([]core.ObjectRef, error) {
			select {
			case <-time.After(mapping):
			case <-ctx.Done():
			}
			return nil, nil
		})
		r := start(ctx, func(ctx context.Context) error {
			ctl := controller.New(controller.ForView(pods), quiet(0)).Watches(slow)
			return ctl.Run(ctx, func(_ context.Context, pod *corev1.Pod) (controller.Action, error) {
				now := time.Now()
				if s := pod.Annotations[replay.Sent]; s != "" {
					if _, again := seen.LoadOrStore(s, true); !again {
						return controller.AwaitChange(), primary.addSince(s, now)
					}
				}
				return controller.AwaitChange(), nil
			})
		})
		defer r.stop()
		for _, ready := range []func(context.Context) error{nodes.Ready, pods.Ready} {
			if err := ready(ctx); err != nil {
				return nil, err
			}
		}
		if err := touchEvery(ctx, e, "pods", touches, touchPause); err != nil {
			return nil, err
		}
		primary.wait(waitForEvents)
		return values{"primary": primary.quantile(0.99)}, nil
	}}
}
