// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/runtime/cache"
)

// The trials that sync a cache of pods. The names of their values are bytes and objects, of the heap and for one pod;
// cpu, in seconds; and inUse, the maximum of the heap with garbage, in bytes.
func ourPods() *trial      { return syncTrial("sync/ours", newView[corev1.Pod]()) }
func ourSmallPods() *trial { return syncTrial("sync/ours-compressed", newCompressedView) }
func ourJSONPods() *trial  { return syncTrial("sync/ours-json", newView[jsonPod]()) }
func ourLeanPods() *trial  { return syncTrial("sync/ours-lean", newView[leanPod]()) }
func ourTaggedPods() *trial {
	return syncTrial("sync/ours-tagged", newView[taggedPod]())
}

func ourDecodedPods() *trial {
	return syncTrial("sync/ours-decoded", func(ctx context.Context, e *env) (contender, error) {
		v, err := viewOf[corev1.Pod](ctx, e, nil)
		if err != nil {
			return nil, err
		}
		return view[corev1.Pod]{cache.Decoded(v)}, nil
	})
}

func ourMetadata() *trial {
	return syncTrial("sync/ours-metadata", newView[metav1.PartialObjectMetadata]())
}
func informedPods() *trial { return syncTrial("sync/informer", newInformer(protobufType, nil)) }
func informedJSONPods() *trial {
	return syncTrial("sync/informer-json", newInformer(jsonType, nil))
}

func strippedPods() *trial {
	return syncTrial("sync/informer-stripped", newInformer(protobufType, strip))
}

func informedMetadata() *trial {
	return syncTrial("sync/informer-metadata", newMetadataInformer(nil))
}

func strippedMetadata() *trial {
	return syncTrial("sync/informer-metadata-stripped", newMetadataInformer(strip))
}

func heapFigures() []*figure {
	return []*figure{
		{
			name: "heap per pod", unit: inBytes, ours: value{"", ourPods(), "bytes"},
			peers: []value{{"informer", informedPods(), "bytes"}}, bar: bar{ratio: 1. / 6},
		},
		{
			name: "heap per pod, stripped peer", unit: inBytes, ours: value{"", ourPods(), "bytes"},
			peers: []value{{"informer without managedFields", strippedPods(), "bytes"}},
		},
		{
			name: "heap per pod, compressed", unit: inBytes, ours: value{"", ourSmallPods(), "bytes"},
			peers: []value{{"informer", informedPods(), "bytes"}}, bar: bar{ratio: 1. / 12},
		},
		{
			name: "heap per pod, decoded store", unit: inBytes, ours: value{"", ourDecodedPods(), "bytes"},
			peers: []value{
				{"informer", informedPods(), "bytes"},
				{"without managedFields", strippedPods(), "bytes"},
			},
		},
		{
			name: "heap per pod, JSON", unit: inBytes, ours: value{"", ourJSONPods(), "bytes"},
			peers: []value{{"informer", informedJSONPods(), "bytes"}},
		},
		{
			name: "heap objects per pod", unit: inCount, ours: value{"", ourPods(), "objects"},
			peers: []value{{"informer", informedPods(), "objects"}},
		},
		{
			name: "heap per entry of a type with 5 fields", unit: inBytes, ours: value{"", ourLeanPods(), "bytes"},
			peers: []value{{"metadata informer", strippedMetadata(), "bytes"}}, bar: bar{limit: 700},
		},
		{
			name: "heap per entry of a type with 5 fields and protobuf tags", unit: inBytes,
			ours:  value{"", ourTaggedPods(), "bytes"},
			peers: []value{{"metadata informer", strippedMetadata(), "bytes"}}, bar: bar{limit: 700},
		},
		{
			name: "heap objects per entry of a type with 5 fields", unit: inCount, ours: value{"", ourLeanPods(), "objects"},
			peers: []value{{"metadata informer", strippedMetadata(), "objects"}}, bar: bar{limit: 3},
		},
		{
			name: "heap per metadata entry, and per our full pod", unit: inBytes, ours: value{"", ourMetadata(), "bytes"},
			peers: []value{{"our pod", ourPods(), "bytes"}}, bar: bar{ratio: 1},
		},
		{
			name: "heap per metadata entry", unit: inBytes, ours: value{"", ourMetadata(), "bytes"},
			peers: []value{
				{"informer", informedMetadata(), "bytes"},
				{"without managedFields", strippedMetadata(), "bytes"},
			},
		},
	}
}

func syncFigures() []*figure {
	seconds := inMS
	return []*figure{
		{
			name: "CPU to sync the pods", unit: seconds, ours: value{"", ourPods(), "cpu"},
			peers: []value{{"informer", informedPods(), "cpu"}}, bar: bar{ratio: 1 / 6.9},
		},
		{
			name: "CPU to sync the pods, compressed", unit: seconds, ours: value{"", ourSmallPods(), "cpu"},
			peers: []value{{"informer", informedPods(), "cpu"}},
		},
		{
			name: "CPU to sync the pods, JSON", unit: seconds, ours: value{"", ourJSONPods(), "cpu"},
			peers: []value{{"informer", informedJSONPods(), "cpu"}},
		},
		{
			name: "heap in use while syncing", unit: inMB, ours: value{"", ourPods(), "inUse"},
			peers: []value{{"informer", informedPods(), "inUse"}},
		},
		{
			name: "peak of the heap / final, streaming list", unit: inCount,
			ours:  value{"", peakTrial("peak/ours", newView[corev1.Pod](), false), "ratio"},
			peers: []value{{"informer", peakTrial("peak/informer", newInformer(protobufType, nil), false), "ratio"}},
			bar:   bar{limit: 1.1},
		},
		{
			name: "peak of the heap / final, paged list", unit: inCount,
			ours:  value{"", peakTrial("peak/ours-lists", newView[corev1.Pod](), true), "ratio"},
			peers: []value{{"informer", peakTrial("peak/informer-lists", newInformer(protobufType, nil), true), "ratio"}},
			bar:   bar{limit: 1.1},
		},
	}
}

// syncTrial syncs a cache and measures it.
func syncTrial(name string, open maker) *trial {
	return &trial{name: name, run: func(ctx context.Context, e *env) (values, error) {
		c, err := open(ctx, e)
		if err != nil {
			return nil, err
		}
		before, used := reachable(), cpu()
		s := sampleInUse()
		stop, err := synced(ctx, e, c)
		if err != nil {
			return nil, err
		}
		defer stop()
		used = cpu() - used
		inUse := s.end() - before.bytes
		after := reachable()
		runtime.KeepAlive(c)
		n := float64(e.objects)
		return values{
			"bytes":   (after.bytes - before.bytes) / n,
			"objects": (after.objects - before.objects) / n,
			"cpu":     used.Seconds(),
			"inUse":   inUse,
		}, e.profile()
	}}
}

// peakTrial syncs a cache slowly, and measures the peak of the heap.
func peakTrial(name string, open maker, lists bool) *trial {
	server := replay.Options{Lists: lists, Pace: 10 * time.Millisecond}
	return &trial{name: name, server: server, run: func(ctx context.Context, e *env) (values, error) {
		c, err := open(ctx, e)
		if err != nil {
			return nil, err
		}
		before := reachable()
		s := sampleReachable()
		stop, err := synced(ctx, e, c)
		if err != nil {
			return nil, err
		}
		defer stop()
		peak := s.end() - before.bytes
		final := reachable().bytes - before.bytes
		runtime.KeepAlive(c)
		return values{"ratio": peak / final, "peak": peak, "final": final}, nil
	}}
}
