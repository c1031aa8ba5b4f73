// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

func TestOwnerIsReconciledWhenAnObjectThatItControlsChanges(t *testing.T) {
	const group = "docs.example.com/v1"
	tests := []struct {
		name   string
		owners []metav1.OwnerReference
		want   []string // documents that run
	}{
		{"its controller", []metav1.OwnerReference{owner(group, "Document", "a", true)}, []string{"a=1"}},
		{"in any version", []metav1.OwnerReference{owner("docs.example.com/v1alpha7", "Document", "a", true)}, []string{"a=1"}},
		{"among other owners", []metav1.OwnerReference{
			owner(group, "Document", "b", false), owner(group, "Document", "a", true),
		}, []string{"a=1"}},
		{"not an owner that does not control it", []metav1.OwnerReference{owner(group, "Document", "a", false)}, nil},
		{"not a controller of another kind", []metav1.OwnerReference{owner(group, "Shelf", "a", true)}, nil},
		{"not a controller of another group", []metav1.OwnerReference{owner("example.com/v1", "Document", "a", true)}, nil},
		{"not a controller of the core group", []metav1.OwnerReference{owner("v1", "Document", "a", true)}, nil},
		{"not a controller with an invalid API version", []metav1.OwnerReference{owner("a/b/c", "Document", "a", true)}, nil},
		{"no owner", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				w.Put(documents, doc("prod/b", "1"))
				w.Put(documents, doc("test/a", "1"))
				var runs journal
				c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
				start(t, c, runs.note)
				runs.take()
				w.Put(pages, pageOf("prod/p", tt.owners...))
				synctest.Wait()
				runs.want(t, tt.want...)
				changed := pageOf("prod/p", tt.owners...)
				changed.Labels = map[string]string{"changed": "yes"}
				w.Put(pages, changed)
				synctest.Wait()
				runs.want(t, tt.want...)
				w.Delete(pages, ref("prod/p"))
				synctest.Wait()
				runs.want(t, tt.want...)
			})
		})
	}
}

func TestBothOwnersAreReconciledWhenTheControllerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		w.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true)))
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
		start(t, c, runs.note)
		runs.take()
		w.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Document", "b", true)))
		synctest.Wait()
		runs.wantSet(t, "a=1", "b=1")
		w.Put(pages, pageOf("prod/p"))
		synctest.Wait()
		runs.want(t, "b=1")
	})
}

func TestClusterScopedOwnerOfANamespacedObjectIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(shelves, &shelf{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
		w.Put(pages, pageOf("prod/p"))
		var runs journal
		c := controller.New(controller.For[shelf](w.cache), nil).Owns(controller.Source[page](w.cache))
		start(t, c, func(_ context.Context, s *shelf) (controller.Action, error) {
			runs.add(s.Name)
			return controller.AwaitChange(), nil
		})
		runs.want(t, "s")
		w.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Shelf", "s", true)))
		synctest.Wait()
		runs.want(t, "s")
	})
}

// of maps a page to the documents that it names.
func of(_ context.Context, p *page) ([]core.ObjectRef, error) {
	refs := make([]core.ObjectRef, len(p.Of))
	for i, name := range p.Of {
		refs[i] = core.ObjectRef{Namespace: p.Namespace, Name: name}
	}
	return refs, nil
}

// TestObjectsOfStatesBetweenRun checks that the documents run which a page concerned for a moment, while its changes
// were not delivered: their runs may have read that state from the store.
func TestObjectsOfStatesBetweenRun(t *testing.T) {
	about := func(p *page, document string) *page {
		p.Of = []string{document}
		p.OwnerReferences = []metav1.OwnerReference{owner("docs.example.com/v1", "Document", document, true)}
		return p
	}
	for name, watch := range map[string]func(*controller.Controller[document], controller.Secondary[page]){
		"Owns": func(c *controller.Controller[document], s controller.Secondary[page]) { c.Owns(s) },
		"Map":  func(c *controller.Controller[document], s controller.Secondary[page]) { c.Watches(s.Map(of)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for _, name := range []string{"prod/a", "prod/b", "prod/c"} {
					w.Put(documents, doc(name, "1"))
				}
				w.Put(pages, pageOf("prod/p"))
				w.Put(pages, pageOf("prod/q"))
				feed := lateFeed{viewOf[page](w), func(first core.ObjectRef) {
					<-time.After(time.Second)
					for _, document := range []string{"a", "b", "a", ""} {
						for _, page := range []string{"prod/p", "prod/q"} {
							if p := about(pageOf(page), document); document != "" {
								w.Put(pages, p)
							} else {
								w.Delete(pages, ref(page))
							}
						}
						<-time.After(time.Second)
					}
				}}
				var runs journal
				c := controller.New(controller.For[document](w.cache), nil)
				watch(c, controller.SourceFeed[page](feed))
				start(t, c, runs.note)
				runs.take()
				after(time.Minute)
				got := runs.take()
				slices.Sort(got)
				if want := []string{"a=1", "b=1"}; !slices.Equal(slices.Compact(got), want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// pageAbout returns the page prod/p.
func pageAbout(of ...string) *page {
	p := pageOf("prod/p")
	p.Of = of
	return p
}

func TestObjectsOfTheOldAndTheNewStateAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"a", "b", "c"} {
			w.Put(documents, doc("prod/"+name, "1"))
		}
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, runs.note)
		runs.take()
		w.Put(pages, pageAbout("a", "b"))
		synctest.Wait()
		runs.wantSet(t, "a=1", "b=1")
		w.Put(pages, pageAbout("b", "c"))
		synctest.Wait()
		runs.wantSet(t, "a=1", "b=1", "c=1")
		w.Delete(pages, ref("prod/p"))
		synctest.Wait()
		runs.wantSet(t, "b=1", "c=1")
		w.Put(pages, pageAbout("nothing-that-is-there"))
		synctest.Wait()
		runs.want(t)
	})
}

func TestMapSupportsUnstructuredObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var kinds, runs journal
		view := cache.OfResource[unstructured.Unstructured](w.cache, pages, nil)
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.SourceView(view).Map(func(_ context.Context, u *unstructured.Unstructured) ([]core.ObjectRef, error) {
				kinds.add(u.GetAPIVersion() + " " + u.GetKind())
				names, _, _ := unstructured.NestedStringSlice(u.Object, "of")
				return []core.ObjectRef{{Namespace: u.GetNamespace(), Name: names[0]}}, nil
			}))
		start(t, c, runs.note)
		runs.take()
		w.Put(pages, pageAbout("a"))
		synctest.Wait()
		runs.want(t, "a=1")
		kinds.want(t, "docs.example.com/v1 Page")
	})
}

func TestPanicOfMapIsLoggedAndAffectsOnlyItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(func(ctx context.Context, p *page) ([]core.ObjectRef, error) {
				_ = p.Of[0] // index out of range if it names no document
				return of(ctx, p)
			}))
		start(t, c, runs.note)
		runs.take()
		w.Put(pages, pageAbout("a"))
		synctest.Wait()
		runs.want(t, "a=1")
		w.Put(pages, pageAbout())
		synctest.Wait()
		runs.want(t, "a=1") // the old state still counts
		w.Put(pages, pageAbout("b"))
		synctest.Wait()
		runs.want(t, "b=1")
		if lines := w.log.with("kind=Page object=prod/p"); len(lines) != 2 || !strings.Contains(lines[0], "index out of range") {
			t.Errorf("the log does not have the panics of both states:\n%s", w.log)
		}
	})
}

func TestPanicOfDecodingAMappedObjectIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[touchy](w.cache).Map(func(context.Context, *touchy) ([]core.ObjectRef, error) { return nil, nil }))
		start(t, c, runs.note)
		runs.want(t, "a=1")
		if lines := w.log.with("can't map a changed object"); len(lines) != 1 || !strings.Contains(lines[0], "panic: no") ||
			!strings.Contains(lines[0], "stack=") {
			t.Errorf("the log does not report the panic with its stack:\n%s", w.log)
		}
	})
}

func TestANamespacedOwnerOfAClusterScopedObjectIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		owned := &shelf{ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: []metav1.OwnerReference{
			owner("docs.example.com/v1", "Document", "a", true),
		}}}
		w.Put(shelves, owned)
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[shelf](w.cache))
		start(t, c, runs.note)
		runs.want(t, "a=1")
		if lines := w.log.with("object=s"); len(lines) != 1 || !strings.Contains(lines[0], "give it an owner that is cluster-scoped") {
			t.Errorf("the log does not report the invalid owner:\n%s", w.log)
		}
	})
}

func TestInvalidReferenceIsAFailedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(pages, pageAbout("a"))
		var runs, results journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{OnResult: func(r controller.Result) {
			if r.Err != nil {
				results.add(r.Err.Error())
			}
		}}).Watches(controller.Source[page](w.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
			return []core.ObjectRef{{Name: "a"}}, nil
		}))
		start(t, c, runs.note)
		after(time.Hour)
		runs.want(t, "a=1")
		results.want(t, "documents.docs.example.com a: the namespace is empty: set ObjectRef.Namespace, "+
			"because documents.docs.example.com live in namespaces")
	})
}

// forbidden makes the lists and watches of a kind fail until the returned function is called.
func forbidden(s *fakesource.Server) (permit func()) {
	no := fakesource.Status(403, metav1.StatusReasonForbidden)
	s.Behave(fakesource.Behaviour{
		OnList:  func(*request.ListOptions) error { return no },
		OnWatch: func(*request.WatchOptions) error { return no },
	})
	return func() { s.Behave(fakesource.Behaviour{}) }
}

func TestLateSourceDelaysRunsUpToItsTimeoutAndIsUsedOnceReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		permit := forbidden(w.Kind(pages))
		w.Put(documents, doc("prod/a", "1"))
		w.Put(pages, pageAbout("a"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[shelf](w.cache)).
			Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, runs.note)
		after(29 * time.Second)
		runs.want(t)
		after(time.Second)
		runs.want(t, "a=1")
		if lines := w.log.with("level=WARN"); len(lines) != 1 ||
			!strings.Contains(lines[0], "source=pages.docs.example.com") || !strings.Contains(lines[0], "forbidden") {
			t.Errorf("the log does not report the late source and its error exactly once:\n%s", w.log)
		}
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=2")

		health := c.Health()
		wantHealth(t, health, "documents.docs.example.com ready", "shelves.docs.example.com ready", "pages.docs.example.com late")
		if !errors.Is(health[2].Err, core.ErrForbidden) || health[0].Err != nil {
			t.Errorf("Health() = %v, want an error of the pages only", health)
		}
		permit()
		after(2 * time.Minute)
		runs.want(t, "a=2")
		wantHealth(t, c.Health(), "documents.docs.example.com ready", "shelves.docs.example.com ready", "pages.docs.example.com ready")
	})
}

func wantHealth(t *testing.T, health []controller.SourceHealth, want ...string) {
	t.Helper()
	var got []string
	for _, h := range health {
		state := " late"
		if h.Ready {
			state = " ready"
		}
		got = append(got, h.Resource.String()+state)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Health() = %q, want %q", got, want)
	}
}

func TestRunWaitsForThePrimarySourceAndLogsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		permit := forbidden(w.Kind(documents))
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache))
		start(t, c, runs.note)
		after(5*time.Minute + time.Second)
		runs.want(t)
		lines := w.log.with("documents.docs.example.com")
		if len(lines) != 10 || !strings.Contains(lines[9], "forbidden") {
			t.Errorf("the log does not report the late source and its error every 30 seconds:\n%s", w.log)
		}
		permit()
		after(2 * time.Minute)
		runs.want(t, "a=1")
	})
}

func TestRunEndsImmediatelyWhileItWaitsForTheSources(t *testing.T) {
	for _, late := range []core.Resource{documents, pages} {
		t.Run(late.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				forbidden(w.Kind(late))
				var runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
					Owns(controller.Source[page](w.cache))
				stop := start(t, c, runs.note)
				began := time.Now()
				stop()
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
				if w.log.String() != "" {
					t.Errorf("the log reports an error although no source failed:\n%s", w.log)
				}
			})
		})
	}
}

func TestInvalidSourceEndsRunImmediately(t *testing.T) {
	type unknown struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	tests := []struct {
		name   string
		source func(*cache.Cache) controller.AnySecondary
		want   string
	}{
		{"of an unknown kind", func(c *cache.Cache) controller.AnySecondary {
			return controller.Source[unknown](c)
		}, "source controller_test.unknown: controller_test.unknown: not a known kind"},
		{"with an invalid selector", func(c *cache.Cache) controller.AnySecondary {
			return controller.SourceView(cache.Of[page](c, &cache.Selection{LabelSelector: "a in"}))
		}, `source pages.docs.example.com: label selector "a in"`},
		{"with a namespace for a cluster-scoped kind", func(c *cache.Cache) controller.AnySecondary {
			return controller.SourceView(cache.Of[shelf](c, &cache.Selection{Namespace: "prod"}))
		}, "shelves.docs.example.com are cluster-scoped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				var runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
					Owns(tt.source(w.cache))
				began := time.Now()
				err := c.Run(t.Context(), runs.note)
				if err == nil || !strings.Contains(err.Error(), tt.want) || time.Since(began) > 0 {
					t.Errorf("Run() = %v after %v, want immediately: %s", err, time.Since(began), tt.want)
				}
				if e := c.With(runs.note).Standby(t.Context()); e == nil || e.Error() != err.Error() {
					t.Errorf("Standby() = %v, want %v", e, err)
				}
				runs.want(t)
				if log := w.log.String(); log != "" {
					t.Errorf("the error that Run returns was logged, too:\n%s", log)
				}
				if err := c.Health()[1].Err; err == nil {
					t.Error("Health() does not return the error")
				}
			})
		})
	}
}

func TestRunAgainAfterAPermanentFailureOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		invalid := &request.InvalidError{Field: "test", Detail: "is on"}
		w.Kind(pages).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return invalid }})
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
		if err := c.Run(t.Context(), runs.note); !errors.Is(err, invalid) {
			t.Errorf("Run() = %v, want %v", err, invalid)
		}
		w.Kind(pages).Behave(fakesource.Behaviour{})
		runs.take()

		// Run may or may not return the old failure, but it must not work with only some of its sources.
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, runs.note) }()
		synctest.Wait()
		w.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true)))
		synctest.Wait()
		ran := runs.take()
		cancel(errStop)
		if err := <-ended; !errors.Is(err, invalid) && !slices.Equal(ran, []string{"a=1", "a=1"}) {
			t.Errorf("Run() = %v after the runs %q", err, ran)
		}
	})
}

func TestReadsSyncsObjectsThatCauseNoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(pages, pageOf("prod/p"))
		view := viewOf[page](w)
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).Reads(controller.SourceView(view))
		start(t, c, func(_ context.Context, d *document) (controller.Action, error) {
			_, err := view.Store().Get(ref("prod/p"))
			runs.add(fmt.Sprint(d.Name, " ", err))
			return controller.AwaitChange(), nil
		})
		runs.want(t, "a <nil>")
		w.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true)))
		w.Put(pages, pageOf("prod/q"))
		after(time.Minute)
		runs.want(t)
		if h := c.Health(); len(h) != 2 || !h[1].Ready {
			t.Errorf("Health() = %+v", h)
		}
	})
}

func TestMistakesOfTheProgramEndRunImmediately(t *testing.T) {
	w := newWorld(t)
	c := controller.New(controller.For[document](w.cache), nil)
	for _, err := range []error{c.Run(t.Context(), nil), c.RunPacked(t.Context(), nil), c.With(nil).Run(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "the reconcile is nil") {
			t.Errorf("Run() of nil = %v", err)
		}
	}
	c.Reads(controller.Source[page](w.cache).Where(controller.GenerationChanged()))
	if err := c.Run(t.Context(), idle); err == nil || !strings.Contains(err.Error(), "Where has no effect on Reads") {
		t.Errorf("Run() = %v, want an error about Where", err)
	}
	var none *cache.View[page]
	for name, c := range map[string]*controller.Controller[document]{
		"ForView": controller.New(controller.ForView[document](nil), nil).Owns(controller.Source[page](w.cache)),
		"Decoded": controller.New(controller.ForView(cache.Decoded[document](nil)), nil).
			Owns(controller.Source[page](w.cache)),
		"more views": controller.New(controller.ForView(viewOf[document](w), nil), nil),
		"Owns":       controller.New(controller.For[document](w.cache), nil).Owns(controller.SourceView(none)),
		"Reads": controller.New(controller.For[document](w.cache), nil).
			Reads(controller.SourceView(none).Where(controller.GenerationChanged())),
		"Map": controller.New(controller.For[document](w.cache), nil).
			Watches(controller.SourceView(none).Map(func(context.Context, *page) ([]core.ObjectRef, error) { return nil, nil })),
	} {
		if err := c.Run(t.Context(), idle); err == nil || !strings.Contains(err.Error(), "a view is nil") {
			t.Errorf("%s of a nil view: Run() = %v, want an error", name, err)
		}
		if health := c.Health(); len(health) > 2 {
			t.Errorf("%s of a nil view: Health() = %v", name, health)
		}
	}
	if err := controller.New(controller.For[document](nil), nil).Run(t.Context(), idle); err == nil ||
		!strings.Contains(err.Error(), "the cache is nil") {
		t.Errorf("For of a nil cache: Run() = %v, want an error", err)
	}
	for name, trigger := range map[string]controller.Trigger{
		"the zero Trigger": {}, "On of nil": controller.On(nil), "Map of nil": controller.Source[page](w.cache).Map(nil),
	} {
		c := controller.New(controller.For[document](w.cache), nil).Watches(trigger)
		if err := c.Run(t.Context(), idle); err == nil || !strings.Contains(err.Error(), "a Trigger that has no function") {
			t.Errorf("%s: Run() = %v, want an error", name, err)
		}
	}
}
