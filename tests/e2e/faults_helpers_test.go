// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// secretResource is the resource of secrets, for views of their metadata.
var secretResource = kube.Resource{
	Version: "v1", Kind: "Secret", Plural: "secrets", Singular: "secret", Namespaced: true,
}

// testbed is a cluster with a load. All faults of one test are in one namespace of it, or in the cluster itself.
type testbed struct {
	cluster *cluster.Cluster
	config  *kube.Config // of the administrator
	direct  *kube.Client // without faults
	clients []*kube.Client
	idle    int // goroutines before the first client
	ns      string

	once    *atomic.Int64               // number of objects that were created under names that are used once
	maps    *kube.API[corev1.ConfigMap] // the APIs of direct in the namespace
	secrets *kube.API[corev1.Secret]
	widgets *kube.API[unstructured.Unstructured]
}

// newFaultyCluster starts a cluster in which tests can cause faults, and defines widgets.
func newFaultyCluster(t *testing.T) *testbed {
	t.Helper()
	c, err := startCluster(t.Context(), &cluster.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: c.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	// The load needs neither of them, and after each fault they would keep the API server busy.
	for _, name := range []string{cluster.ControllerManager, cluster.Scheduler} {
		if err := c.Component(name).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	s := &testbed{cluster: c, config: cfg}
	s.direct = s.newClient(t, &kube.ClientOptions{Config: cfg})
	s.widgets = newWidgets(t, s.direct, "faults")
	return s
}

// part returns the testbed for a part of a test. Goroutines that are started from now on, directly or indirectly, have
// the name of the part as a label, see goroutines.
func (s *testbed) part(t *testing.T) *testbed {
	t.Helper()
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("test", t.Name())))
	own := *s
	own.clients, own.idle = nil, goroutines(t)
	if s.direct != nil {
		own.clients = []*kube.Client{s.direct} // the part may open its connection
	}
	return &own
}

// in returns the testbed for one test, in a new namespace.
func (s *testbed) in(t *testing.T) *testbed {
	t.Helper()
	own := s.part(t)
	own.direct = own.newClient(t, &kube.ClientOptions{Config: s.config})
	own.ns = newNamespace(t, own.direct)
	own.once = new(atomic.Int64)
	own.maps = kube.Namespaced[corev1.ConfigMap](own.direct, own.ns)
	own.secrets = kube.Namespaced[corev1.Secret](own.direct, own.ns)
	own.widgets = kube.Dynamic(own.direct, s.widgets.Resource()).In(own.ns)
	own.fill(t)
	return own
}

// manyMaps is the number of ConfigMaps that a test begins with. A cache of at least 256 objects compresses them.
const manyMaps = 300

// fill creates the ConfigMaps with the names of manyName.
func (s *testbed) fill(t *testing.T) {
	t.Helper()
	var creating sync.WaitGroup
	for i := range manyMaps {
		creating.Go(func() {
			if _, err := s.maps.Create(limit(t), configMap(manyName(i), "0"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
}

func manyName(i int) string { return fmt.Sprintf("many-%03d", i) }

// newClient returns a client. Its requests are not recorded, unlike those of connect, because the record would need
// most of the memory of the process.
func (s *testbed) newClient(t *testing.T, o *kube.ClientOptions) *kube.Client {
	t.Helper()
	c, err := kube.NewClient(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	s.clients = append(s.clients, c)
	return c
}

// Most objects have one of few names, so that they are often deleted and created again. The others are created and
// deleted once, so that no later change hides that a change was lost.
const (
	loadNames   = 40
	loadOnce    = 60 // the number of objects that exist once; a multiple of the number of kinds
	loadWriters = 2
	loadPause   = 20 * time.Millisecond // of each writer after each write
	loadStep    = 20                    // the writes that must succeed between two faults
)

// load writes objects of all kinds at random. It sends each request once: it is not the subject of the tests.
type load struct {
	maps      *kube.API[corev1.ConfigMap]
	secrets   *kube.API[corev1.Secret]
	widgets   *kube.API[unstructured.Unstructured]
	once      *atomic.Int64
	succeeded atomic.Int64
	trouble   troubles
	ballast   string
}

// startLoad starts a load. Stop waits until its last request has ended.
func (s *testbed) startLoad(t *testing.T) (l *load, stop func()) {
	t.Helper()
	c := s.newClient(t, &kube.ClientOptions{Config: s.config, Retry: &kube.RetryOptions{MaxAttempts: 1}})
	l = &load{
		maps: kube.Namespaced[corev1.ConfigMap](c, s.ns), secrets: kube.Namespaced[corev1.Secret](c, s.ns),
		widgets: kube.Dynamic(c, s.widgets.Resource()).In(s.ns), once: s.once,
		ballast: ballast(t, 1<<10),
	}
	end := background(t, func(ctx context.Context) error {
		var writers sync.WaitGroup
		for i := range loadWriters {
			random := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // the objects need no security
			writers.Go(func() {
				for rest(ctx, loadPause) == nil {
					l.count(l.write(ctx, random))
				}
			})
		}
		writers.Wait()
		return context.Cause(ctx)
	})
	return l, func() {
		t.Helper()
		_ = end() // errStopped
		if err := l.trouble.all(); err != nil {
			t.Errorf("the load: %v", err)
		}
	}
}

// await waits until further writes have succeeded.
func (l *load) await(t *testing.T) {
	t.Helper()
	want := l.succeeded.Load() + loadStep
	eventually(t, "the load continues", func(context.Context) error {
		if got := l.succeeded.Load(); got < want {
			return fmt.Errorf("%d writes have succeeded, want %d", got, want)
		}
		return nil
	})
}

// count counts a write. Faults, and objects that exist or do not exist, are expected.
func (l *load) count(err error) {
	_, unreachable := errors.AsType[*kube.ConnectError](err)
	_, rejected := errors.AsType[*kube.StatusError](err)
	switch {
	case err == nil:
		l.succeeded.Add(1)
	case errors.Is(err, kube.ErrNotFound), errors.Is(err, kube.ErrAlreadyExists), errors.Is(err, kube.ErrConflict):
	case unreachable, !rejected, kube.IsRetryable(err):
	case errors.Is(err, kube.ErrForbidden), errors.Is(err, kube.ErrUnauthorized): // while the API server starts
	default:
		l.trouble.add(err)
	}
}

// The actions of a write.
const (
	actionDelete = iota
	actionCreate
	actionPatch
)

// kinds is the number of kinds that the load writes.
const kinds = 3

// write creates, changes or deletes one object, or it creates one object and deletes another one.
func (l *load) write(ctx context.Context, random *rand.Rand) error {
	name, n := fmt.Sprintf("n-%02d", random.IntN(loadNames)), random.IntN(1000)
	switch random.IntN(7) {
	case 6: // rarely the same one
		return l.act(ctx, actionPatch, 0, manyName(random.IntN(manyMaps)), n)
	case 0, 1: // disturb the controller
		if random.IntN(2) == 0 {
			return l.maps.Delete(ctx, childPrefix+name, nil)
		}
		_, err := l.maps.Patch(ctx, childPrefix+name, setValue("disturbed"), nil)
		return err
	case 2, 3:
		i := int(l.once.Add(1))
		err := l.act(ctx, actionCreate, i%kinds, fmt.Sprintf("once-%d", i), n)
		if i > loadOnce {
			l.count(l.act(ctx, actionDelete, i%kinds, fmt.Sprintf("once-%d", i-loadOnce), n))
		}
		return err
	default:
		return l.act(ctx, []int{actionDelete, actionCreate, actionPatch, actionPatch}[random.IntN(4)],
			random.IntN(kinds), name, n)
	}
}

// act creates, changes or deletes an object of a kind.
func (l *load) act(ctx context.Context, action, kind int, name string, n int) error {
	value := strconv.Itoa(n)
	switch kind {
	case 0:
		cm := configMap(name, value)
		cm.Data["ballast"] = l.ballast
		return changeOne(ctx, l.maps, action, cm, setValue(value))
	case 1:
		return changeOne(ctx, l.secrets, action, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"v": value}},
			StringData: map[string]string{"v": value},
		}, kube.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"v": value}}}))
	default:
		spec := map[string]any{"size": int64(n)}
		return changeOne(ctx, l.widgets, action, &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": spec,
		}}, kube.MergePatch(map[string]any{"spec": spec}))
	}
}

// changeOne deletes, creates or patches an object.
func changeOne[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *kube.API[K], action int, obj *K, patch kube.Patch,
) (err error) {
	switch action {
	case actionDelete:
		err = deleteUnchanged[K, P](ctx, api, P(obj).GetName())
	case actionCreate:
		_, err = api.Create(ctx, obj, nil)
	default:
		_, err = api.Patch(ctx, P(obj).GetName(), patch, nil)
	}
	return err
}

// deleteUnchanged deletes the object in the state that it reads. A delete of any state can win against a finalizer that
// is added at the same time, and nothing would clean up: https://github.com/kubernetes/kubernetes/issues/77988.
func deleteUnchanged[K any, P core.ObjectPtr[K]](ctx context.Context, api *kube.API[K], name string) error {
	obj, err := api.Get(ctx, name, nil)
	if err != nil {
		return err
	}
	return api.Delete(ctx, name, &kube.DeleteOptions{ResourceVersion: P(obj).GetResourceVersion()})
}

// interference is a middleware that rejects requests and ends watches, as the server or a proxy may do.
type interference struct {
	rejecting atomic.Bool  // it rejects about 30 % of all requests
	rejected  atomic.Int64 // number of rejected requests
	refused   atomic.Int64 // number of requests that the server itself has rejected with 429

	mu      sync.Mutex // guards watches
	watches map[*watchBody]bool
}

func (f *interference) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		if f.rejecting.Load() && rand.IntN(10) < 3 { //nolint:gosec // it needs no security
			f.rejected.Add(1)
			if req.Body != nil {
				req.Body.Close()
			}
			return overloaded(req), nil
		}
		if req.URL.Query().Get("watch") == "" {
			return f.counted(next.RoundTrip(req))
		}
		ctx, cancel := context.WithCancel(req.Context())
		resp, err := f.counted(next.RoundTrip(req.WithContext(ctx)))
		if err != nil {
			cancel()
			return nil, err
		}
		body := &watchBody{ReadCloser: resp.Body, cancel: cancel, closed: f.forget}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.watches == nil {
			f.watches = map[*watchBody]bool{}
		}
		f.watches[body] = true
		resp.Body = body
		return resp, nil
	})
}

// counted counts the responses with 429.
func (f *interference) counted(resp *http.Response, err error) (*http.Response, error) {
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		f.refused.Add(1)
	}
	return resp, err
}

// overloaded returns the response of an overloaded API server.
func overloaded(req *http.Request) *http.Response {
	return &http.Response{
		Status: "429 Too Many Requests", StatusCode: http.StatusTooManyRequests,
		Proto: "HTTP/2.0", ProtoMajor: 2, Request: req,
		Header: http.Header{"Retry-After": {"1"}, "Content-Type": {"text/plain; charset=utf-8"}},
		Body:   io.NopCloser(strings.NewReader("Too many requests, please try again later.\n")),
	}
}

// endWatches ends the responses of all watches, perhaps in the middle of an event. The connection is not affected.
func (f *interference) endWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for body := range f.watches {
		body.ended.Store(true)
		body.cancel()
	}
}

func (f *interference) forget(body *watchBody) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watches, body)
}

// watchBody is the body of the response to a watch.
type watchBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	closed func(*watchBody)
	ended  atomic.Bool
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.ended.Load() {
		return 0, io.EOF
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.closed(b)
	defer b.cancel()
	return b.ReadCloser.Close()
}

// rest waits for a time. It returns the cause if the context ends first.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
