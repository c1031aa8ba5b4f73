// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// TestFinalizer promises that what was built for an object outside the cluster is torn down before the object goes, for a
// custom kind as for a built-in one.
func TestFinalizer(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	ns := newNamespace(t, c)
	t.Run("of a custom kind", func(t *testing.T) {
		testFinalizer(t, c, ns, func(name string) *v1.Document {
			return v1.NewDocument("", name, v1.DocumentSpec{Title: name})
		})
	})
	t.Run("of a built-in kind", func(t *testing.T) {
		testFinalizer(t, c, ns, func(name string) *corev1.ConfigMap { return configMap(name, "1") })
	})
}

// tended selects the objects of these tests.
const tended = "example.com/tended"

func testFinalizer[K any, P core.ObjectPtr[K]](t *testing.T, c *kube.Client, ns string, build func(name string) *K) {
	t.Helper()
	api := kube.Namespaced[K, P](c, ns)
	create := func(t *testing.T, name string, finalizers ...string) P {
		t.Helper()
		obj := P(build(name))
		obj.SetLabels(map[string]string{tended: ""})
		obj.SetFinalizers(finalizers)
		made, err := api.Create(limit(t), obj, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	remove := func(t *testing.T, obj P) {
		t.Helper()
		if err := api.Delete(limit(t), obj.GetName(), nil); err != nil {
			t.Fatal(err)
		}
	}
	awaitGone := func(t *testing.T, obj P) {
		t.Helper()
		if err := kube.AwaitGone[K, P](limit(t), api, obj.GetName(), obj.GetUID(), nil); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("cleanup is tried until it succeeds, then the object goes", func(t *testing.T) {
		s := newSite()
		s.refusals = 2
		tend[K, P](t, c, api, "example.com/only", s)
		obj := create(t, "one")
		s.awaitBuilt(t, "one")
		remove(t, obj)
		awaitGone(t, obj)
		s.check(t)
	})
	t.Run("several controllers each clean up, and leave others' finalizers alone", func(t *testing.T) {
		sites := []*site{newSite(), newSite(), newSite()}
		for i, s := range sites {
			tend[K, P](t, c, api, fmt.Sprintf("example.com/site-%d", i), s)
		}
		const foreign = "example.com/foreign"
		objects := []P{create(t, "held", foreign)}
		for i := range 5 {
			objects = append(objects, create(t, fmt.Sprintf("many-%d", i)))
		}
		for _, obj := range objects {
			for _, s := range sites {
				s.awaitBuilt(t, obj.GetName())
			}
		}
		for _, obj := range objects {
			remove(t, obj)
		}
		for _, obj := range objects[1:] {
			awaitGone(t, obj)
		}
		held, err := kube.Await[K, P](limit(t), api, "held", func(obj *K) error {
			if f := P(obj).GetFinalizers(); !slices.Equal(f, []string{foreign}) {
				return fmt.Errorf("its finalizers are %q", f)
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		release := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}})
		if _, err := api.Patch(limit(t), "held", release, nil); err != nil {
			t.Fatal(err)
		}
		awaitGone(t, held)
		for _, s := range sites {
			s.check(t)
		}
	})
	t.Run("an object that is deleted while the controller is down is cleaned up when it is back", func(t *testing.T) {
		s := newSite()
		stop := tend[K, P](t, c, api, "example.com/only", s)
		obj := create(t, "late")
		s.awaitBuilt(t, "late")
		if err := stop(); !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		remove(t, obj)
		if !s.has("late") {
			t.Error("it was cleaned up by nobody")
		}
		tend[K, P](t, c, api, "example.com/only", s)
		awaitGone(t, obj)
		s.check(t)
	})
}

// tend runs a controller that has one thing built on a site for each object.
func tend[K any, P core.ObjectPtr[K]](t *testing.T, c *kube.Client, api *kube.API[K], finalizer string, s *site) (stop func() error) {
	t.Helper()
	view := kube.ViewOf[K, P](newCache(t, c), &kube.Selection{Namespace: api.Namespace(), LabelSelector: tended})
	funcs := kube.FinalizerFuncs[K]{
		Apply: func(_ context.Context, obj *K) (kube.Action, error) {
			s.build(P(obj).GetName(), slices.Contains(P(obj).GetFinalizers(), finalizer))
			return kube.AwaitChange(), nil
		},
		Cleanup: func(ctx context.Context, obj *K) (kube.Action, error) {
			_, err := api.Get(ctx, P(obj).GetName(), nil)
			return kube.AwaitChange(), s.tearDown(P(obj).GetName(), err)
		},
	}
	return background(t, func(ctx context.Context) error {
		return kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)}).Run(ctx, func(ctx context.Context, obj *K) (kube.Action, error) {
			return kube.Finalize[K, P](ctx, api, finalizer, obj, funcs)
		})
	})
}

// site is outside the cluster. Things are built on it. It is safe for concurrent use.
type site struct {
	mu       sync.Mutex // guards what follows
	things   map[string]bool
	refusals int     // how many more times nothing can be torn down
	wrongs   []error // what should not have happened
}

func newSite() *site { return &site{things: map[string]bool{}} }

func (s *site) build(name string, guarded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !guarded {
		s.wrongs = append(s.wrongs, fmt.Errorf("%s was built without a finalizer", name))
	}
	s.things[name] = true
}

// tearDown is told how reading the object went.
func (s *site) tearDown(name string, read error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals > 0 {
		s.refusals--
		return errors.New("not now")
	}
	if s.things[name] && read != nil {
		s.wrongs = append(s.wrongs, fmt.Errorf("%s is torn down too late: %w", name, read))
	}
	delete(s.things, name)
	return nil
}

func (s *site) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.things[name]
}

func (s *site) awaitBuilt(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" is built", func(context.Context) error {
		if !s.has(name) {
			return errors.New("it is not there")
		}
		return nil
	})
}

// check wants the site as if nothing had ever been built.
func (s *site) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.things) > 0 || s.refusals > 0 || len(s.wrongs) > 0 {
		t.Errorf("left over: %v; refusals left: %d; wrong: %v", s.things, s.refusals, errors.Join(s.wrongs...))
	}
}
