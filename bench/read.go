// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	peers "k8s.io/client-go/tools/cache"

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

func readFigures() []*figure {
	ours, theirs := readTrial("read/ours", openOurs), readTrial("read/informer", openInformer)
	lean, tagged := readTrial("read/ours-lean", openLean), readTrial("read/ours-tagged", openTagged)
	decoded, shared := readTrial("read/ours-decoded", openDecoded), readTrial("read/informer-shared", openSharedInformer)
	return []*figure{
		{
			name: "pods of one node, by index", unit: inMS, ours: value{"", ours, "node"},
			peers: []value{{"informer with DeepCopy", theirs, "node"}}, bar: bar{limit: 0.2e-3, ratio: 1},
		},
		{
			name: "pods of one node, by index, 5 fields", unit: inMS, ours: value{"", lean, "node"},
			peers: []value{{"informer with DeepCopy", theirs, "node"}}, bar: bar{limit: 0.2e-3, ratio: 1},
		},
		{
			name: "pods of one node, by index, 5 fields and protobuf tags", unit: inMS, ours: value{"", tagged, "node"},
			peers: []value{{"informer with DeepCopy", theirs, "node"}}, bar: bar{limit: 0.2e-3, ratio: 1},
		},
		{
			name: "CPU of the pods of one node, by index, 5 fields and protobuf tags", unit: inMS,
			ours: value{"", tagged, "node-cpu"}, peers: []value{{"informer with DeepCopy", theirs, "node-cpu"}},
			bar: bar{limit: 0.2e-3, ratio: 1},
		},
		{
			name: "pods of one node, by index, decoded store", unit: inMS, ours: value{"", decoded, "node"},
			peers: []value{{"informer with DeepCopy", theirs, "node"}}, bar: bar{limit: 0.2e-3, ratio: 1},
		},
		{
			name: "pods of one node, by index, both shared", unit: inMS, ours: value{"", decoded, "node"},
			peers: []value{{"informer", shared, "node"}},
		},
		{
			name: "all pods, both shared", unit: inMS, ours: value{"", decoded, "all"},
			peers: []value{{"informer", shared, "all"}},
		},
		{
			name: "label selector that matches nothing", unit: inMS, ours: value{"", ours, "nothing"},
			peers: []value{{"informer", theirs, "nothing"}}, bar: bar{limit: 2e-3},
		},
		{
			name: "label selector that excludes all", unit: inMS, ours: value{"", ours, "none"},
			peers: []value{{"informer", theirs, "none"}}, bar: bar{limit: 2e-3},
		},
		{
			name: "read one pod", unit: inUS, ours: value{"", ours, "get"},
			peers: []value{{"informer with DeepCopy", theirs, "get"}},
		},
	}
}

// reader reads a synced cache of pods. Functions that a trial does not measure are nil.
type reader struct {
	ofNode  func(node string) (pods int, err error)
	all     func() (pods int, err error)
	byLabel func(selector string) (pods int, err error)
	get     func(namespace, name string) error
}

// selectsNothing reads the pods of a selector that selects none.
func (r *reader) selectsNothing(selector string) error {
	pods, err := r.byLabel(selector)
	if pods > 0 {
		return errors.Join(fmt.Errorf("%d pods match %s", pods, selector), err)
	}
	return err
}

// opener returns a cache, and its reader for the time when it is synced.
type opener func(ctx context.Context, e *env) (contender, *reader, error)

func openOurs(ctx context.Context, e *env) (contender, *reader, error) {
	c, r, store, err := openNodes(ctx, e, nodeOf, false)
	if err != nil {
		return nil, nil, err
	}
	r.byLabel = func(selector string) (int, error) {
		return count(store.All(&reflector.SelectOptions{LabelSelector: selector}))
	}
	r.get = func(namespace, name string) error {
		_, err := store.Get(refOf(namespace, name))
		return err
	}
	return c, r, nil
}

func openDecoded(ctx context.Context, e *env) (contender, *reader, error) {
	c, r, store, err := openNodes(ctx, e, nodeOf, true)
	if err != nil {
		return nil, nil, err
	}
	r.all = func() (int, error) { return count(store.All(nil)) }
	return c, r, nil
}

func nodeOf(pod *corev1.Pod) string { return pod.Spec.NodeName }

func openLean(ctx context.Context, e *env) (contender, *reader, error) {
	c, r, _, err := openNodes(ctx, e, func(pod *leanPod) string { return pod.Spec.NodeName }, false)
	return c, r, err
}

func openTagged(ctx context.Context, e *env) (contender, *reader, error) {
	c, r, _, err := openNodes(ctx, e, func(pod *taggedPod) string { return pod.Spec.NodeName }, false)
	return c, r, err
}

// openNodes opens a cache of pods with an index by the name of the node.
func openNodes[K any, P core.ObjectPtr[K]](ctx context.Context, e *env, node func(*K) string, decoded bool) (
	contender, *reader, *reflector.Store[K], error,
) {
	v, err := viewOf[K, P](ctx, e, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	if decoded {
		v = cache.Decoded(v)
	}
	byNode := reflector.IndexBy(v.Store(), func(pod *K) []string { return []string{node(pod)} })
	r := &reader{ofNode: func(node string) (int, error) { return count(byNode.All(node)) }}
	return view[K]{v}, r, v.Store(), nil
}

func count[K any](pods iter.Seq2[*K, error]) (n int, err error) {
	for _, err := range pods {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// openNodeInformer opens an informer with an index by the name of the node.
func openNodeInformer(ctx context.Context, e *env) (informer, error) {
	c, err := newInformer(protobufType, strip)(ctx, e)
	if err != nil {
		return informer{}, err
	}
	i := c.(informer)
	return i, i.AddIndexers(peers.Indexers{"node": func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}})
}

// openSharedInformer opens an informer whose readers share the objects.
func openSharedInformer(ctx context.Context, e *env) (contender, *reader, error) {
	i, err := openNodeInformer(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	return i, &reader{
		ofNode: func(node string) (int, error) {
			all, err := i.GetIndexer().ByIndex("node", node)
			return len(all), err
		},
		all: func() (n int, err error) {
			err = peers.ListAll(i.GetIndexer(), labels.Everything(), func(any) { n++ })
			return n, err
		},
	}, nil
}

func openInformer(ctx context.Context, e *env) (contender, *reader, error) {
	i, err := openNodeInformer(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	return i, &reader{
		ofNode: func(node string) (int, error) {
			all, err := i.GetIndexer().ByIndex("node", node)
			for _, obj := range all {
				_ = obj.(*corev1.Pod).DeepCopy()
			}
			return len(all), err
		},
		byLabel: func(text string) (n int, err error) {
			selector, err := labels.Parse(text)
			if err != nil {
				return 0, err
			}
			err = peers.ListAll(i.GetIndexer(), selector, func(obj any) {
				_ = obj.(*corev1.Pod).DeepCopy()
				n++
			})
			return n, err
		},
		get: func(namespace, name string) error {
			obj, ok, err := i.GetStore().GetByKey(namespace + "/" + name)
			if err != nil || !ok {
				return errors.Join(errors.New("the pod does not exist"), err)
			}
			_ = obj.(*corev1.Pod).DeepCopy()
			return nil
		},
	}, nil
}

// readTrial measures reads. The names of the values are those of the times in seconds, and pods, the number of pods of
// the node.
func readTrial(name string, open opener) *trial {
	return &trial{name: name, run: func(ctx context.Context, e *env) (values, error) {
		c, r, err := open(ctx, e)
		if err != nil {
			return nil, err
		}
		stop, err := synced(ctx, e, c)
		if err != nil {
			return nil, err
		}
		defer stop()
		v := values{}
		node, next := objects.Pod(0).Spec.NodeName, 0
		err = e.measure(v, "node", func() error {
			pods, err := r.ofNode(node)
			v["pods"] = float64(pods)
			return err
		})
		if r.all != nil {
			err = errors.Join(err, e.measure(v, "all", func() error {
				n, err := r.all()
				if n != e.objects {
					err = errors.Join(fmt.Errorf("%d pods, want %d", n, e.objects), err)
				}
				return err
			}))
		}
		if r.get == nil {
			return v, err
		}
		return v, errors.Join(
			err,
			r.selectsNothing("app=none"), // the first selection creates the index
			e.measure(v, "nothing", func() error { return r.selectsNothing("app=none") }),
			e.measure(v, "none", func() error { return r.selectsNothing("!app") }),
			e.measure(v, "get", podGetter(e.objects, &next, r)),
		)
	}}
}

// podGetter returns a function that reads the next of some pods.
func podGetter(pods int, next *int, r *reader) func() error {
	refs := make([][2]string, 0, 100)
	for i := range min(pods, cap(refs)) {
		pod := objects.Pod(i * (pods / min(pods, cap(refs))))
		refs = append(refs, [2]string{pod.Namespace, pod.Name})
	}
	return func() error {
		ref := refs[*next%len(refs)]
		*next++
		return r.get(ref[0], ref[1])
	}
}
