// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

func TestPredicatesSelectModifications(t *testing.T) {
	const none = ""
	tests := []struct {
		name  string
		where []controller.Predicate
		want  string // the modifications that pass
	}{
		{"none", nil, "generation labels annotations finalizers text"},
		{"generation", []controller.Predicate{controller.GenerationChanged()}, "generation"},
		{"labels", []controller.Predicate{controller.LabelsChanged()}, "labels"},
		{"annotations", []controller.Predicate{controller.AnnotationsChanged()}, "annotations"},
		{"finalizers", []controller.Predicate{controller.FinalizersChanged()}, "finalizers"},
		{
			"resource version",
			[]controller.Predicate{controller.ResourceVersionChanged()},
			"generation labels annotations finalizers text",
		},
		{"all must hold", []controller.Predicate{controller.LabelsChanged(), controller.ResourceVersionChanged()}, "labels"},
		{
			"and can exclude each other",
			[]controller.Predicate{controller.LabelsChanged(), controller.GenerationChanged()},
			none,
		},
		{
			"any",
			[]controller.Predicate{controller.AnyOf(controller.LabelsChanged(), controller.AnnotationsChanged())},
			"labels annotations",
		},
		{"a custom one", []controller.Predicate{controller.PredicateOf(func(before, after *document) bool {
			return before.Text != after.Text
		})}, "text"},
		{"a custom one of another Go type", []controller.Predicate{
			controller.PredicateOf(func(before, after *unstructured.Unstructured) bool {
				return before.Object["text"] != after.Object["text"]
			}),
		}, "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				d := doc("prod/a", "1")
				d.Generation = 1
				put := func() {
					w.Put(documents, d)
					synctest.Wait()
				}
				put()
				var runs journal
				start(t, controller.New(controller.For[document](w.cache).Where(tt.where...), nil), runs.note)
				runs.want(t, "a=1") // the initial object always passes
				var got []string
				for _, step := range []struct {
					name string
					do   func()
				}{
					{"generation", func() { d.Generation++ }},
					{"labels", func() { d.Labels = map[string]string{"a": "b"} }},
					{"annotations", func() { d.Annotations = map[string]string{"a": "b"} }},
					{"finalizers", func() { d.Finalizers = []string{"example.com/a"} }},
					{"text", func() { d.Text = "2" }},
				} {
					step.do()
					put()
					if len(runs.take()) > 0 {
						got = append(got, step.name)
					}
				}
				if got := strings.Join(got, " "); got != tt.want {
					t.Errorf("the modifications %q pass, want %q", got, tt.want)
				}
				d.DeletionTimestamp = new(metav1.Now())
				put()
				runs.want(t, "a=2")
				w.Delete(documents, ref("prod/a"))
				d.UID, d.DeletionTimestamp, d.Text = "2", nil, "3"
				put() // the deletion and the creation may be one change, or cause two runs of the new object
				if got := slices.Compact(runs.take()); !slices.Equal(got, []string{"a=3"}) {
					t.Errorf("got %q, want runs of the new object", got)
				}
			})
		})
	}
}

func TestModificationsOfKindsWithoutAGenerationPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		start(t, controller.New(controller.For[document](w.cache).Where(controller.GenerationChanged()), nil), runs.note)
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=1", "a=2")
	})
}

func TestPredicatesOfSecondarySourcesApplyToOwnsAndMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var runs journal
		source := controller.Source[page](w.cache).Where(controller.LabelsChanged())
		start(t, controller.New(controller.For[document](w.cache), nil).Owns(source).Watches(source.Map(of)), runs.note)
		runs.take()
		p := pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true))
		p.Of = []string{"b"}
		put := func() {
			w.Put(pages, p)
			synctest.Wait()
		}
		put()
		runs.wantSet(t, "a=1", "b=1")
		p.Annotations = map[string]string{"a": "b"}
		put()
		runs.want(t)
		p.Labels = map[string]string{"a": "b"}
		put()
		runs.wantSet(t, "a=1", "b=1")
		w.Delete(pages, ref("prod/p"))
		synctest.Wait()
		runs.wantSet(t, "a=1", "b=1")
	})
}

func TestModificationPassesIfAPredicateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		o := &controller.Options{Logger: w.log.logger()}
		bad := controller.PredicateOf(func(_, _ *document) bool { panic(errNo) })
		start(t, controller.New(controller.For[document](w.cache).Where(bad), o), runs.note)
		w.Put(documents, doc("prod/a", "2"))
		after(time.Minute)
		runs.want(t, "a=1", "a=2")
		if lines := w.log.with("a predicate has failed"); len(lines) != 1 || !strings.Contains(lines[0], "object=prod/a") ||
			!strings.Contains(lines[0], "panic: no") {
			t.Errorf("the log does not report the panic:\n%s", w.log)
		}
	})
}

func TestPredicateThatDoesNotFitItsSourceIsAnError(t *testing.T) {
	w := newWorld(t)
	ofPages := controller.PredicateOf(func(_, _ *page) bool { return true })
	const source = "source documents.docs.example.com: "
	const noFunction = "a predicate has no function: pass one to PredicateOf"
	for _, tt := range []struct {
		predicate controller.Predicate
		want      string
	}{
		{ofPages, "a predicate is of pages.docs.example.com: pass one of documents.docs.example.com"},
		{controller.AnyOf(), "AnyOf has no predicate: pass one or more"},
		{controller.Predicate{}, noFunction},
		{controller.PredicateOf[document](nil), noFunction},
		{controller.AnyOf(controller.LabelsChanged(), controller.Predicate{}), noFunction},
	} {
		documents := controller.For[document](w.cache).Where(controller.AnyOf(controller.LabelsChanged()), tt.predicate)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if err := controller.New(documents, nil).Run(ctx, idle); err == nil || err.Error() != source+tt.want {
			t.Errorf("Run() = %v, want %s", err, tt.want)
		}
	}
}

func TestSlowPredicateDelaysOnlyItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		p := pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true))
		w.Put(pages, p)
		var runs journal
		slow := controller.PredicateOf(func(_, _ *page) bool {
			<-time.After(time.Minute)
			return true
		})
		start(t, controller.New(controller.For[document](w.cache), nil).
			Owns(controller.Source[page](w.cache).Where(slow)), runs.note)
		runs.take()
		p.Labels = map[string]string{"a": "b"}
		w.Put(pages, p)
		synctest.Wait()
		w.Put(documents, doc("prod/b", "2"))
		synctest.Wait()
		runs.want(t, "b=2")
		after(time.Minute)
		runs.want(t, "a=1")
	})
}

// TestMergedModificationPassesIfARunMayHaveReadAStateBetween checks that an object runs again when a change is undone
// before it is delivered, and a run has read the changed state from the store.
func TestMergedModificationPassesIfARunMayHaveReadAStateBetween(t *testing.T) {
	labels := func(d *document) { d.Labels = map[string]string{"a": "b"} }
	text := func(d *document) { d.Text = "2" }
	annotations := func(d *document) { d.Annotations = map[string]string{"a": "b"} }
	finalizers := func(d *document) { d.Finalizers = []string{"example.com/a"} }
	for name, tt := range map[string]struct {
		where  controller.Predicate
		change func(*document)
		passes bool
	}{
		"labels":      {controller.LabelsChanged(), labels, true},
		"annotations": {controller.AnnotationsChanged(), annotations, true},
		"finalizers":  {controller.FinalizersChanged(), finalizers, true},
		"a custom one": {controller.PredicateOf(func(before, after *document) bool {
			return before.Text != after.Text
		}), text, true},
		"one of several":  {controller.AnyOf(controller.GenerationChanged(), controller.LabelsChanged()), labels, true},
		"generation":      {controller.GenerationChanged(), text, false},
		"only generation": {controller.AnyOf(controller.GenerationChanged()), text, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				put := func(name string, change func(*document)) {
					d := doc("prod/"+name, "1")
					d.Generation = 1
					change(d)
					w.Put(documents, d)
					synctest.Wait()
				}
				none := func(*document) {}
				put("a", none)
				put("slow", none)
				slow := controller.PredicateOf(func(_, after *document) bool {
					if after.Name == "slow" {
						<-time.After(time.Minute)
					}
					return true
				})
				var runs journal
				c := controller.New(controller.For[document](w.cache).Where(slow, tt.where), nil)
				start(t, c, runs.note)
				put("slow", labels) // its predicate delays the changes below
				put("a", tt.change)
				runs.take()
				c.ReconcileAll()
				synctest.Wait() // now a run has read the change
				runs.take()
				put("a", none)
				after(time.Hour)
				got := slices.Contains(runs.take(), "a=1")
				if got != tt.passes {
					t.Errorf("the object runs again: %t, want %t", got, tt.passes)
				}
			})
		})
	}
}

// leanDocument is a document without the fields that the predicates of the tests read.
type leanDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*leanDocument) KubeResource() core.Resource { return documents }

// leanPage is a page without the fields that the predicates of the tests read.
type leanPage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*leanPage) KubeResource() core.Resource { return pages }

// countRuns returns a reconcile that records the names of the objects.
func countRuns[K any, P core.ObjectPtr[K]](runs *journal) controller.Reconcile[K] {
	return func(_ context.Context, obj *K) (controller.Action, error) {
		runs.add(P(obj).GetName())
		return controller.AwaitChange(), nil
	}
}

// checkWide checks that changes of one of the fields that predicates read cause runs, on two clusters.
func checkWide[K any, P core.ObjectPtr[K]](
	t *testing.T, of func(*cache.Cache) *cache.View[K], ps ...controller.Predicate,
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.ForView(of(hub.cache)).Where(ps...), nil)
		start(t, c, countRuns[K, P](&runs))
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		go func() { _ = c.Engage(ctx, spoke.cache) }()
		synctest.Wait()
		runs.want(t, "a", "a")
		for _, w := range []*world{hub, spoke} {
			d := doc("prod/a", "2")
			w.Put(documents, d)
			synctest.Wait()
			runs.want(t, "a")
			d.Status = "not read"
			w.Put(documents, d)
			synctest.Wait()
			runs.want(t)
		}
	})
}

// TestPredicateReadsFieldsThatTheTypeOfItsSourceLacks checks that the cache holds what the type of a predicate needs.
func TestPredicateReadsFieldsThatTheTypeOfItsSourceLacks(t *testing.T) {
	text := controller.PredicateOf(func(before, after *document) bool { return before.Text != after.Text })
	dynamic := controller.PredicateOf(func(before, after *unstructured.Unstructured) bool {
		return before.Object["text"] != after.Object["text"]
	})
	lean := func(c *cache.Cache) *cache.View[leanDocument] { return cache.Of[leanDocument](c, nil) }
	metadata := func(c *cache.Cache) *cache.View[metav1.PartialObjectMetadata] {
		return cache.OfResource[metav1.PartialObjectMetadata](c, documents, &cache.Selection{Namespace: "prod"})
	}
	t.Run("a lean type", func(t *testing.T) { checkWide(t, lean, text) })
	t.Run("metadata", func(t *testing.T) { checkWide(t, metadata, text) })
	t.Run("several types", func(t *testing.T) { checkWide(t, metadata, text, dynamic) })
	t.Run("AnyOf", func(t *testing.T) { checkWide(t, lean, controller.AnyOf(controller.LabelsChanged(), dynamic, text)) })
}

// TestSourceWithAPredicateBeginsWhenTheCacheHasTheFieldsOfThePredicate checks that no modification is suppressed
// because a running watch holds the old state without a field.
func TestSourceWithAPredicateBeginsWhenTheCacheHasTheFieldsOfThePredicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		p := pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true))
		p.Of = []string{"b"}
		w.Put(pages, p)
		view := cache.Of[leanPage](w.cache, nil)
		go func() { _ = view.Run(t.Context()) }()
		synctest.Wait()
		answer := make(chan struct{})
		w.Kind(pages).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			<-answer
			return nil
		}})
		var runs journal
		source := controller.SourceView(view).Where(controller.PredicateOf(func(before, after *page) bool {
			return !slices.Equal(before.Of, after.Of)
		}))
		start(t, controller.New(controller.For[document](w.cache), nil).Owns(source), runs.note)
		after(time.Minute) // the source is late
		runs.want(t, "a=1")
		p.Of = nil
		w.Put(pages, p)
		close(answer)
		synctest.Wait()
		runs.want(t, "a=1")
		p.Of = []string{"c"}
		w.Put(pages, p)
		synctest.Wait()
		runs.want(t, "a=1")
	})
}

// accepting is a transport that records the accepted media types.
type accepting struct {
	http.RoundTripper
	journal
}

func (a *accepting) RoundTrip(req *http.Request) (*http.Response, error) {
	a.add(req.Header.Get("Accept"))
	return a.RoundTripper.RoundTrip(req)
}

func TestWatchUsesJSONIfAPredicateCanNotReadProtobuf(t *testing.T) {
	configMaps, _ := core.ResourceOf[corev1.ConfigMap]()
	for _, where := range [][]controller.Predicate{
		nil,
		{controller.PredicateOf(func(_, _ *unstructured.Unstructured) bool { return true })},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport := &accepting{RoundTripper: fakeapi.New(configMaps)}
			c, err := client.New(t.Context(), &client.Options{
				Config: &config.Config{Server: "https://server.test"}, Transport: transport,
			})
			if err != nil {
				t.Fatal(err)
			}
			source := controller.For[corev1.ConfigMap](cache.New(c, nil)).Where(where...)
			start(t, controller.New(source, nil), countRuns[corev1.ConfigMap](new(journal)))
			protobuf := slices.ContainsFunc(transport.take(), func(accept string) bool {
				return strings.Contains(accept, "protobuf")
			})
			if protobuf != (where == nil) {
				t.Errorf("%d predicates: protobuf is accepted: %t", len(where), protobuf)
			}
		})
	}
}
