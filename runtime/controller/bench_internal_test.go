// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
)

// benchObjects is the number of objects in the benchmarks.
const benchObjects = 10_000

// BenchmarkRun reports the cost of a reconcile that does nothing, from Add to Done: of the queue and the worker alone,
// with objects in memory, and with objects that are decoded from the store, as in a controller.
func BenchmarkRun(b *testing.B) {
	atHand := benchPacked(b)
	nop := func(*corev1.ConfigMap) {}
	for _, bb := range []struct {
		name string
		read func(Key) (reflector.State, string, error)
		use  func(reflector.State) error
	}{
		{
			"at hand",
			func(Key) (reflector.State, string, error) { return atHand, "", nil },
			func(reflector.State) error { return nil },
		},
		{"from the store, protobuf", benchStore(b, wire.Protobuf), decodeTo(nop)},
		{"from the store, JSON", benchStore(b, wire.JSON), decodeTo(nop)},
	} {
		for _, workers := range []int{1, (*Options)(nil).withDefaults().Concurrency} {
			for _, counted := range []bool{true, false} { // with and without the numbers of Metrics
				b.Run(fmt.Sprintf("%s/workers=%d/counted=%t", bb.name, workers, counted), func(b *testing.B) {
					benchmarkRun(b, workers, counted, bb.read, bb.use)
				})
			}
		}
	}
}

func benchPacked(b *testing.B) reflector.State {
	b.Helper()
	p, err := wire.Pack(benchConfigMap(0), wire.JSON)
	if err != nil {
		b.Fatal(err)
	}
	return reflector.StateOf(p)
}

// decodeTo returns a function that decodes an object as Run does, and passes it to use.
func decodeTo(use func(*corev1.ConfigMap)) func(reflector.State) error {
	res, _ := core.ResourceOf[corev1.ConfigMap]()
	return func(s reflector.State) error {
		obj := new(corev1.ConfigMap)
		if err := decode(s, obj, res); err != nil {
			return err
		}
		use(obj)
		return nil
	}
}

func benchmarkRun(
	b *testing.B, workers int, counted bool, read func(Key) (reflector.State, string, error), use func(reflector.State) error,
) {
	run := startWorkers(b, workers, counted, read, use)
	b.ReportAllocs()
	b.ResetTimer()
	for n := b.N; n > 0; n -= benchObjects {
		run(min(n, benchObjects))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// startWorkers returns a function that runs a number of objects with the workers.
func startWorkers(
	b *testing.B, workers int, counted bool, read func(Key) (reflector.State, string, error), use func(reflector.State) error,
) (run func(objects int)) {
	keys := make([]Key, benchObjects)
	for i := range keys {
		keys[i] = Key{Ref: benchRef(i)}
	}
	a, cause := applier.New[Key, *event](nil), &event{what: CauseAdded}
	ctx, cancel := context.WithCancel(b.Context())
	var wg, runs sync.WaitGroup
	for range workers {
		w := &worker{
			applier: a,
			read:    read,
			reconcile: func(_ context.Context, s reflector.State) (Action, error) {
				err := use(s)
				runs.Done()
				return AwaitChange(), err
			},
			report: func(context.Context, Result) {},
			leave:  func(_ *worker, over bool) bool { return over },

			trackers: new(trackers),
			failing:  new(failing),
		}
		if counted {
			w.tally = newTallies().shard()
		}
		wg.Go(func() { w.run(ctx, ctx) })
	}
	b.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return func(objects int) {
		runs.Add(objects)
		for _, key := range keys[:objects] {
			a.Add(key, applier.Normal, cause)
		}
		runs.Wait()
	}
}

// BenchmarkMetricsRatio reports the cost of the numbers of [Metrics]: the median ratio of the times of runs with and
// without them. The runs decode an object and do nothing. Both take turns, so that other programs disturb both.
func BenchmarkMetricsRatio(b *testing.B) {
	read, use := benchStore(b, wire.Protobuf), decodeTo(func(*corev1.ConfigMap) {})
	start := func(counted bool) func(int) { return startWorkers(b, 1, counted, read, use) }
	with, without := []func(int){start(true)}, []func(int){start(false), start(false)}
	with = append(with, start(true)) // the first and the last, since their memory matters, too
	took := func(run func(int)) float64 {
		start := time.Now()
		run(1000)
		return time.Since(start).Seconds()
	}
	var ratios []float64
	for b.Loop() {
		uncounted := took(without[0])
		counted := took(with[0]) + took(with[1])
		ratios = append(ratios, counted/(uncounted+took(without[1])))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

func benchRef(i int) core.ObjectRef {
	return core.ObjectRef{Namespace: "prod", Name: "web-" + strconv.Itoa(i)}
}

func benchConfigMap(i int) *corev1.ConfigMap {
	r := benchRef(i)
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, UID: "1", Labels: map[string]string{"app": "web"}},
		Data:       map[string]string{"greeting": "hello, " + r.Name},
	}
}

// benchStore returns a function that reads from a store with the objects.
func benchStore(b *testing.B, encoding wire.Encoding) func(Key) (reflector.State, string, error) {
	b.Helper()
	res, _ := core.ResourceOf[corev1.ConfigMap]()
	server := fakesource.New(res, encoding)
	for i := range benchObjects {
		server.Put(benchConfigMap(i))
	}
	r := reflector.New(server, nil)
	store := reflector.StoreOf[corev1.ConfigMap](r)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Run(ctx) })
	b.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	if err := store.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	return func(key Key) (reflector.State, string, error) {
		return store.State(key.Ref), "", nil
	}
}

// frames is a server whose only response is one watch.
type frames struct{ body io.ReadCloser }

func (f frames) RoundTrip(r *http.Request) (*http.Response, error) {
	context.AfterFunc(r.Context(), func() { _ = f.body.Close() })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {wire.MediaTypeJSON}}, Body: f.body}, nil
}

func frame(b *testing.B, kind core.EventType, obj any) []byte {
	b.Helper()
	line, err := json.Marshal(map[string]any{"type": kind, "object": obj})
	if err != nil {
		b.Fatal(err)
	}
	return append(line, '\n')
}

// BenchmarkLatency reports the time from an event of a watch to the reconcile of its object, with 10,000 objects and no
// other load: through the client, the decoding of the stream, the store, the queue and a worker.
func BenchmarkLatency(b *testing.B) {
	r, w := io.Pipe()
	c, err := client.New(b.Context(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: frames{r},
	})
	if err != nil {
		b.Fatal(err)
	}
	begun := make(chan time.Time, benchObjects)
	ctl := New(For[corev1.ConfigMap](cache.New(c, nil)), nil)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = ctl.Run(ctx, func(context.Context, *corev1.ConfigMap) (Action, error) {
			begun <- time.Now()
			return AwaitChange(), nil
		})
	})
	defer wg.Wait()
	defer cancel()

	var initial bytes.Buffer
	for i := range benchObjects {
		obj := benchConfigMap(i)
		obj.ResourceVersion = strconv.Itoa(i + 1)
		initial.Write(frame(b, core.Added, obj))
	}
	end := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(benchObjects), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	initial.Write(frame(b, core.Bookmark, end))
	if _, err := w.Write(initial.Bytes()); err != nil {
		b.Fatal(err)
	}
	for range benchObjects {
		<-begun
	}
	var took []time.Duration
	version := benchObjects
	for b.Loop() {
		version++
		obj := benchConfigMap(version % benchObjects)
		obj.ResourceVersion = strconv.Itoa(version)
		line := frame(b, core.Modified, obj)
		start := time.Now()
		if _, err := w.Write(line); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-begun).Sub(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkCount reports the cost of the numbers of [Metrics] for a run: the time of its end, and the counts. See
// "counted" of [BenchmarkRun] for the cost of the whole run, which varies more.
func BenchmarkCount(b *testing.B) {
	t, r, begun := newTallies().shard(), new(Result), time.Now()
	for b.Loop() {
		r.Took = time.Since(begun)
		t.count(r, time.Microsecond)
	}
}
