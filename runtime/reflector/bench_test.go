// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

// podSource lists many copies of a real pod, each with its own name and UID, and then sends the changes that it is
// given.
type podSource struct {
	pods    []wire.Packed
	changes chan wire.Event
}

// newPodSource packs the pods, with ten pods in each namespace.
func newPodSource(t testing.TB, pods int, encoding wire.Encoding) *podSource {
	t.Helper()
	data, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	pod := new(corev1.Pod)
	if err := wire.UnmarshalJSON(data, pod); err != nil {
		t.Fatal(err)
	}
	s := &podSource{pods: make([]wire.Packed, pods), changes: make(chan wire.Event)}
	for i := range s.pods {
		ref := podRef(i)
		pod.Namespace, pod.Name = ref.Namespace, ref.Name
		pod.UID = types.UID(fmt.Sprintf("3f1c8a52-9d1e-4a77-8c4e-%012d", i))
		pod.ResourceVersion = fmt.Sprint(1000000 + i)
		if s.pods[i], err = wire.Pack(pod, encoding); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func podRef(i int) core.ObjectRef {
	return core.ObjectRef{Namespace: fmt.Sprintf("team-%d", i/10), Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i)}
}

func (s *podSource) Resource() core.Resource {
	res, _ := core.ResourceOf[corev1.Pod]()
	return res
}

func (s *podSource) List(context.Context, *request.ListOptions, func(wire.Packed) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{}, errors.New("lists are streamed")
}

func (s *podSource) Watch(ctx context.Context, _ *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	return func(yield func(wire.Event, error) bool) {
		for _, pod := range s.pods {
			if !yield(wire.Event{Type: core.Added, Object: pod}, nil) {
				return
			}
		}
		end := `{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
		if !yield(wire.Event{Type: core.Bookmark, Object: wire.NewPacked(wire.JSON, []byte(end))}, nil) {
			return
		}
		for {
			select {
			case ev := <-s.changes:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				yield(wire.Event{}, context.Cause(ctx))
				return
			}
		}
	}, nil
}

// store returns a store with all pods, and a function that stops its reflector.
func (s *podSource) store(t testing.TB) (*reflector.Store[corev1.Pod], func()) {
	t.Helper()
	r := reflector.New(s, nil)
	store := reflector.StoreOf[corev1.Pod](r)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		_ = r.Run(ctx) // the cause of ctx
	}()
	if err := store.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return store, func() {
		cancel()
		<-ended
	}
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkHeap reports the heap size of a pod: in a store, and decoded in a map of typed pods, with and without
// managedFields, as other caches hold them.
func BenchmarkHeap(b *testing.B) {
	const pods = 20000
	for _, encoding := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		b.Run("packed/"+encoding.String(), func(b *testing.B) {
			src := newPodSource(b, pods, encoding)
			for b.Loop() {
				before := heap()
				store, stop := src.store(b)
				b.ReportMetric((heap()-before)/pods, "heap-B/pod")
				runtime.KeepAlive(store)
				runtime.KeepAlive(src)
				stop()
			}
		})
	}
	for _, managed := range []bool{true, false} {
		b.Run(fmt.Sprintf("decoded/managedFields=%v", managed), func(b *testing.B) {
			src := newPodSource(b, pods, wire.Protobuf)
			for b.Loop() {
				before := heap()
				store := make(map[string]*corev1.Pod)
				for _, packed := range src.pods {
					pod := new(corev1.Pod)
					if err := packed.Decode(pod); err != nil {
						b.Fatal(err)
					}
					if !managed {
						pod.ManagedFields = nil
					}
					store[core.RefOf(pod).String()] = pod
				}
				b.ReportMetric((heap()-before)/pods, "heap-B/pod")
				runtime.KeepAlive(store)
				runtime.KeepAlive(src)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, encoding := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		b.Run(encoding.String(), func(b *testing.B) {
			store, stop := newPodSource(b, 1000, encoding).store(b)
			defer stop()
			ref := podRef(500)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Get(ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAll reports the cost of one pod in the store.
func BenchmarkAll(b *testing.B) {
	const pods = 20_000
	store, stop := newPodSource(b, pods, wire.Protobuf).store(b)
	defer stop()
	all := func(name string, store *reflector.Store[corev1.Pod], o *reflector.SelectOptions) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range store.All(o) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
		})
	}
	all("everything", store, nil)
	all("no label", store, &reflector.SelectOptions{LabelSelector: "app=none"})
	all("namespace", store, &reflector.SelectOptions{Namespace: "team-7"})
	all("decoded", reflector.Decoded(store), nil)
	all("decoded, namespace", reflector.Decoded(store), &reflector.SelectOptions{Namespace: "team-7"})
}

// BenchmarkSync reports the cost of a pod when a store is filled, with and without a subscriber.
func BenchmarkSync(b *testing.B) {
	const pods = 5000
	for _, encoding := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		src := newPodSource(b, pods, encoding)
		b.Run(encoding.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, stop := src.store(b)
				stop()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
		})
	}
}

// BenchmarkRelist reports the cost of a pod when all pods are listed again and none has changed.
func BenchmarkRelist(b *testing.B) {
	const pods = 5000
	src := newPodSource(b, pods, wire.Protobuf)
	r := reflector.New(src, nil)
	list := func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = r.Run(ctx) // the cause of ctx
		}()
		src.changes <- wire.Event{Type: core.Bookmark, Object: wire.NewPacked(wire.JSON, []byte(`{"metadata":{"resourceVersion":"9"}}`))}
		cancel()
		<-ended
	}
	list()
	b.ReportAllocs()
	for b.Loop() {
		list()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
}

// BenchmarkSubscribe reports the cost of a pod for a late subscriber.
func BenchmarkSubscribe(b *testing.B) {
	const pods = 5000
	store, stop := newPodSource(b, pods, wire.Protobuf).store(b)
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		for change, err := range store.Subscribe(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if change.Type == core.Bookmark {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
}
