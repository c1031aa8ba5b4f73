// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

// errStop ends the controllers of the tests.
var errStop = errors.New("the test is over")

// document is the kind that is reconciled.
type document struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Text              string `json:"text,omitempty"`
	Status            string `json:"status,omitempty"`
}

func (*document) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Document", Plural: "documents", Namespaced: true}
}

// page is a kind that documents own, or that concerns documents.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Of                []string `json:"of,omitempty"` // names of documents
}

func (*page) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Page", Plural: "pages", Namespaced: true}
}

// shelf is a cluster-scoped kind.
type shelf struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*shelf) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Shelf", Plural: "shelves"}
}

// The resources of the kinds.
var (
	documents = (*document)(nil).KubeResource()
	pages     = (*page)(nil).KubeResource()
	shelves   = (*shelf)(nil).KubeResource()
)

func ref(s string) core.ObjectRef { return core.ParseObjectRef(s) }

func doc(name, text string) *document {
	r := ref(name)
	return &document{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}, Text: text}
}

// pageOf returns a page with an owner reference. Tests vary the apiVersion and the name of the owner.
func pageOf(name string, owners ...metav1.OwnerReference) *page {
	r := ref(name)
	return &page{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, OwnerReferences: owners}}
}

func owner(apiVersion, kind, name string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "1", Controller: &controller}
}

// world is a server with a cache of its objects.
type world struct {
	*fakeapi.Server
	client *client.Client
	cache  *cache.Cache
	log    *lines
}

// Client returns the client of the world.
func (w *world) Client() *client.Client { return w.client }

func newWorld(t testing.TB) *world {
	t.Helper()
	server := fakeapi.New(documents, pages, shelves)
	c := server.Client()
	return &world{Server: server, client: c, cache: cache.New(c, nil), log: &lines{}}
}

// start runs a controller in the test's bubble until the test ends, and waits until it is idle. The returned function
// stops it earlier. In both cases, Run must return the cause.
func start[K any](t *testing.T, c *controller.Controller[K], reconcile controller.Reconcile[K]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Run(ctx, reconcile); err != errStop {
			t.Errorf("Run() = %v, want the cause", err)
		}
	}()
	stop = func() {
		cancel(errStop)
		<-ended
	}
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// journal is a list that many goroutines append to.
type journal struct {
	mu   sync.Mutex // guards list
	list []string
}

func (j *journal) add(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, s)
}

// take returns what was added since the last take.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := j.list
	j.list = nil
	return list
}

// want checks the entries since the last take, in order.
func (j *journal) want(t testing.TB, want ...string) {
	t.Helper()
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// wantSet checks the entries since the last take, in any order.
func (j *journal) wantSet(t testing.TB, want ...string) {
	t.Helper()
	got := j.take()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// note returns a reconcile that only records its calls.
func (j *journal) note(_ context.Context, d *document) (controller.Action, error) {
	j.add(d.Name + "=" + d.Text)
	return controller.AwaitChange(), nil
}

// lines is the output of a logger.
type lines struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// with returns the lines that contain a text.
func (l *lines) with(text string) []string {
	var found []string
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// after waits for a time, and then until the bubble is idle.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// viewOf returns the view of all objects of a kind, which the controllers use, too.
func viewOf[K any, P core.ObjectPtr[K]](w *world) *cache.View[K] { return cache.Of[K, P](w.cache, nil) }

// broken is a document that can't be decoded as a [document].
type broken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Text              int `json:"text"`
}

func clusterWide[K any, P core.ObjectPtr[K]](w *world) *client.API[K] {
	return client.ClusterWide[K, P](w.Client())
}

// widen creates a view that needs more of a kind than the other views. Its list is not complete before answer is
// closed.
func widen(w *world, res core.Resource) (answer chan struct{}) {
	answer = make(chan struct{})
	w.Kind(res).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
		<-answer
		return nil
	}})
	cache.OfResource[unstructured.Unstructured](w.cache, res, nil)
	synctest.Wait()
	return answer
}
