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

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

func startFigures() []*figure {
	slow := slowMapTrial("start/ours")
	return []*figure{
		{
			name: "watches for 3 Go types of pods", unit: inCount, ours: value{"", ourWatches("watches/ours"), "watches"},
			peers: []value{{"controller-runtime", peerWatches("watches/controller-runtime"), "watches"}}, bar: bar{limit: 1},
		},
		{
			name: "start with a mapper of 300 ms: p99 of events of the reconciled kind", unit: inMS,
			ours: value{"", slow, "primary"}, bar: bar{limit: 0.1},
		},
		{
			name: "start with a mapper of 300 ms: p99 of mapped events, without the mapper", unit: inMS,
			ours: value{"", slow, "mapped"}, bar: bar{limit: 0.1},
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

// slowMapTrial starts a controller of nodes that maps all pods with a function that takes 300 ms. When both caches are
// synced, it changes nodes and pods, and measures the time until their reconciles start. It measures for only a few
// seconds: later events count with the time that it has waited for them.
// The times of the calls of the mapper are subtracted: one call for each state of the changed pod.
func slowMapTrial(name string) *trial {
	const (
		mapping = 300 * time.Millisecond
		touches = 10 // of pods, one for at most two calls of the mapper
	)
	return &trial{name: name, run: func(ctx context.Context, e *env) (values, error) {
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		shared := cache.New(c, nil)
		nodes, all := cache.Of[corev1.Node](shared, nil), cache.Of[corev1.Pod](shared, nil)
		primary, mapped := newLatencies(objects.Nodes/2), newLatencies(min(touches, e.objects))
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
		touching.Go(func() { _ = touchEvery(ctx, e, "nodes", primary.want, 20*time.Millisecond) })
		_ = touchEvery(ctx, e, "pods", mapped.want, e.time) // an end of ctx shows below
		touching.Wait()
		primary.wait(4 * e.time)
		mapped.wait(4 * e.time)
		return values{"primary": primary.quantile(0.99), "mapped": mapped.quantile(0.99)}, ctx.Err()
	}}
}
