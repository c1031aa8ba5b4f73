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

// TestFinalizerCleansUpBeforeTheObjectIsDeleted checks that things that a controller built outside the cluster are
// removed before their object is deleted, for a custom kind and for a built-in kind.
func TestFinalizerCleansUpBeforeTheObjectIsDeleted(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	ns := newNamespace(t, c)
	t.Run("custom kind", func(t *testing.T) {
		testFinalizer(t, c, ns, func(name string) *v1.Document {
			return v1.NewDocument("", name, v1.DocumentSpec{Title: name})
		})
	})
	t.Run("built-in kind", func(t *testing.T) {
		testFinalizer(t, c, ns, func(name string) *corev1.ConfigMap { return configMap(name, "1") })
	})
}

// tended is the label of the objects of these tests.
const tended = "example.com/tended"

func testFinalizer[K any, P core.ObjectPtr[K]](t *testing.T, c *kube.Client, ns string, build func(name string) *K) {
	t.Helper()
	api := kube.Namespaced[K, P](c, ns)
	create := func(t *testing.T, name string, finalizers ...string) P {
		t.Helper()
		obj := P(build(name))
		obj.SetLabels(map[string]string{tended: ""})
		obj.SetFinalizers(finalizers)
		created, err := api.Create(limit(t), obj, nil)
		if err != nil {
			t.Fatal(err)
		}
		return created
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

	t.Run("cleanup is retried until it succeeds", func(t *testing.T) {
		s := newSite()
		s.refusals = 2
		tend[K, P](t, c, api, "example.com/only", s)
		obj := create(t, "one")
		s.awaitBuilt(t, "one")
		remove(t, obj)
		awaitGone(t, obj)
		s.check(t)
	})
	t.Run("several controllers each remove only their own finalizer", func(t *testing.T) {
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
				return fmt.Errorf("finalizers = %q, want only %s", f, foreign)
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
	t.Run("cleanup runs after a restart of the controller", func(t *testing.T) {
		s := newSite()
		stop := tend[K, P](t, c, api, "example.com/only", s)
		obj := create(t, "late")
		s.awaitBuilt(t, "late")
		if err := stop(); !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		remove(t, obj)
		if !s.has("late") {
			t.Error("the thing was removed while no controller was running")
		}
		tend[K, P](t, c, api, "example.com/only", s)
		awaitGone(t, obj)
		s.check(t)
	})
}

// tend runs a controller that builds one thing on a site for each object.
func tend[K any, P core.ObjectPtr[K]](
	t *testing.T, c *kube.Client, api *kube.API[K], finalizer string, s *site,
) (stop func() error) {
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
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)})
	return background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, obj *K) (kube.Action, error) {
			return kube.Finalize[K, P](ctx, api, finalizer, obj, funcs)
		})
	})
}

// site is a place outside the cluster where a controller builds things. It is safe for concurrent use.
type site struct {
	mu       sync.Mutex // guards all other fields
	things   map[string]bool
	refusals int     // number of calls of tearDown that will fail
	wrongs   []error // unexpected calls
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

// tearDown removes a thing. The error readErr is the result of reading its object, which must still exist.
func (s *site) tearDown(name string, readErr error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals > 0 {
		s.refusals--
		return errors.New("not now")
	}
	if s.things[name] && readErr != nil {
		s.wrongs = append(s.wrongs, fmt.Errorf("%s was removed after its object: %w", name, readErr))
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
			return errors.New(name + " does not exist on the site")
		}
		return nil
	})
}

// check checks that the site is empty and that there were no unexpected calls.
func (s *site) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.things) > 0 || s.refusals > 0 || len(s.wrongs) > 0 {
		t.Errorf("remaining things: %v; remaining refusals: %d; unexpected calls: %v",
			s.things, s.refusals, errors.Join(s.wrongs...))
	}
}
