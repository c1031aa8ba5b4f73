// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// limit returns a context for one step of a test, which no step should need the whole of.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("it took more than a minute"))
	t.Cleanup(cancel)
	return ctx
}

// configMap returns an object to create.
func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
}

// setValue returns a patch of what configMap made.
func setValue(value string) kube.Patch {
	return kube.MergePatch(map[string]any{"data": map[string]string{"v": value}})
}

// background runs a function until the test ends, or until stop is called, which returns what it has returned. Its
// context ends with the cause errStopped.
func background(t *testing.T, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel(errStopped)
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, errStopped) {
			t.Errorf("what ran in the background has failed: %v", err)
		}
	})
	return stop
}

var errStopped = errors.New("stopped by the test")

// awaitValue waits until a value comes out of a channel, and passes over others.
func awaitValue[T comparable](t *testing.T, values <-chan T, want T) {
	t.Helper()
	for ctx := limit(t); ; {
		select {
		case got := <-values:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("%v does not come", want)
		}
	}
}

// requests notes the requests of a client. It is safe for concurrent use.
type requests struct {
	mu   sync.Mutex // guards sent
	sent []string
}

// layer is the middleware.
func (r *requests) layer(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.sent = append(r.sent, req.Method+" "+req.URL.RequestURI())
		r.mu.Unlock()
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// count returns how many request lines have all these parts in them.
func (r *requests) count(parts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.sent {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// troubles notes errors. It is safe for concurrent use.
type troubles struct {
	mu   sync.Mutex // guards errs
	errs []error
}

func (n *troubles) add(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errs = append(n.errs, err)
}

func (n *troubles) all() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.errs...)
}

// guarded is a value that several goroutines read and write.
type guarded[T any] struct {
	mu    sync.Mutex // guards value
	value T
}

func (g *guarded[T]) get() T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value
}

func (g *guarded[T]) set(value T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value = value
}

// follower keeps up with the ConfigMaps of a namespace by one healing watch, and notes what it is told.
type follower struct {
	changes chan string // such as "ADDED a=1"; DELETED has no value, since nobody may have seen the end
	listed  chan int    // how many changes there were before the end of each list
	trouble troubles
}

// follow starts a follower. The configuration's OnError is its own.
func follow(t *testing.T, api *kube.API[corev1.ConfigMap], c kube.WatchConfig) *follower {
	t.Helper()
	f := &follower{changes: make(chan string, 1000), listed: make(chan int, 100)}
	c.OnError = f.trouble.add
	background(t, func(ctx context.Context) error {
		n := 0
		for ev, err := range kube.Watch[corev1.ConfigMap](ctx, api.Feed(), &c) {
			switch {
			case err != nil:
				return err
			case ev.Type == kube.Bookmark && core.InitialEventsEnd(ev.Object):
				f.listed <- n
			case ev.Type == kube.Bookmark, ev.Object.Name == "kube-root-ca.crt": // which Kubernetes makes in every namespace
			case ev.Type == kube.Deleted:
				n++
				f.changes <- "DELETED " + ev.Object.Name
			default:
				n++
				f.changes <- fmt.Sprintf("%s %s=%s", ev.Type, ev.Object.Name, ev.Object.Data["v"])
			}
		}
		return errors.New("the watch has ended without an error")
	})
	return f
}

// expect waits for as many changes as are wanted and compares them. Changes of different objects may come in any order.
func (f *follower) expect(t *testing.T, want ...string) {
	t.Helper()
	ctx := limit(t)
	var got []string
	for range want {
		select {
		case change := <-f.changes:
			got = append(got, change)
		case <-ctx.Done():
			t.Fatalf("told only %q, want %q; trouble: %v", got, want, f.trouble.all())
		}
	}
	byName := func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) }
	slices.SortStableFunc(got, byName)
	slices.SortStableFunc(want, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
}

// nameOf returns the name in a change.
func nameOf(change string) string {
	_, object, _ := strings.Cut(change, " ")
	name, _, _ := strings.Cut(object, "=")
	return name
}

// inStep waits for the end of a list and returns how many changes were told before it.
func (f *follower) inStep(t *testing.T) int {
	t.Helper()
	select {
	case n := <-f.listed:
		return n
	case <-limit(t).Done():
		t.Fatalf("the list has no end; trouble: %v", f.trouble.all())
		return 0
	}
}

// installDocuments installs the Document kind until the test ends.
func installDocuments(t *testing.T, c *kube.Client) {
	t.Helper()
	keepDocumentsAway(t, c)
	if err := documents.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
}

// keepDocumentsAway removes the Document kind when the test ends, unless it is there already.
func keepDocumentsAway(t *testing.T, c *kube.Client) {
	t.Helper()
	crd, err := kube.CRD[v1.Document]()
	if err != nil {
		t.Fatal(err)
	}
	crds := kube.Dynamic(c, kube.CRDResource(), "")
	if _, err = crds.Get(limit(t), crd.GetName(), nil); !errors.Is(err, kube.ErrNotFound) {
		return
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := crds.Delete(ctx, crd.GetName(), nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
		if err := wait.Gone(ctx, crds, crd.GetName(), "", nil); err != nil {
			t.Error(err)
		}
	})
}
