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
	"github.com/kube-go/sdk/runtime/finalizer"
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

// TestFinalizersOfManyClientsKeepAllChanges checks that clients which add and remove their own finalizers of one object
// at the same time, as others change its labels, never undo each other's changes, and what happens to objects that are
// deleted or replaced meanwhile.
func TestFinalizersOfManyClientsKeepAllChanges(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	ns := newNamespace(t, c)
	t.Run("custom kind", func(t *testing.T) {
		testFinalizerRaces(t, c, ns, func(name string) *v1.Document {
			return v1.NewDocument("", name, v1.DocumentSpec{Title: name})
		})
	})
	t.Run("built-in kind", func(t *testing.T) {
		testFinalizerRaces(t, c, ns, func(name string) *corev1.ConfigMap { return configMap(name, "1") })
	})
}

func testFinalizerRaces[K any, P core.ObjectPtr[K]](t *testing.T, c *kube.Client, ns string, build func(name string) *K) {
	t.Helper()
	api := kube.Namespaced[K, P](c, ns)
	create := func(t *testing.T, name string, finalizers ...string) P {
		t.Helper()
		obj := P(build(name))
		obj.SetFinalizers(finalizers)
		created, err := api.Create(limit(t), obj, nil)
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	read := func(t *testing.T, name string) P {
		t.Helper()
		obj, err := api.Get(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	release := func(t *testing.T, obj P) {
		t.Helper()
		patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}})
		if _, err := api.Patch(limit(t), obj.GetName(), patch, nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	}

	t.Run("concurrent clients", func(t *testing.T) {
		const foreign, double = "foreign", "example.com/double"
		stale := create(t, "raced", "example.com/leaving-0", double, "example.com/leaving-1", double, "example.com/leaving-2")
		ctx := limit(t)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { // a stale object, as from a cache; a failure is retried, as by a controller
				retryConflicts(ctx, t, func() error {
					return finalizer.Remove[K, P](ctx, api, fmt.Sprintf("example.com/leaving-%d", i), stale)
				})
			})
			wg.Go(func() {
				retryConflicts(ctx, t, func() error {
					_, err := finalizer.Add[K, P](ctx, api, fmt.Sprintf("example.com/coming-%d", i), stale)
					return err
				})
			})
		}
		wg.Go(func() {
			for i := range 20 {
				labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{fmt.Sprint("l", i): "x"}}}
				if _, err := api.Patch(ctx, "raced", kube.MergePatch(labels), nil); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() { // appends without a look at the list
			op := kube.PatchOp{Op: "add", Path: "/metadata/finalizers/-", Value: "example.com/" + foreign}
			if _, err := api.Patch(ctx, "raced", kube.JSONPatch(op), nil); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		got := read(t, "raced")
		finalizers := slices.Sorted(slices.Values(got.GetFinalizers()))
		want := []string{
			"example.com/coming-0", "example.com/coming-1", "example.com/coming-2", double, double, "example.com/" + foreign,
		}
		if !slices.Equal(finalizers, want) || len(got.GetLabels()) != 20 {
			t.Errorf("finalizers = %q, want %q; %d labels, want 20", finalizers, want, len(got.GetLabels()))
		}
		if err := finalizer.Remove[K, P](ctx, api, double, got); err != nil {
			t.Error(err)
		}
		if got := read(t, "raced").GetFinalizers(); slices.Contains(got, double) || len(got) != 4 {
			t.Errorf("finalizers without the one that was there twice = %q", got)
		}
		release(t, got)
	})
	t.Run("deleted objects get no finalizer", func(t *testing.T) {
		stale := create(t, "deleted", "example.com/held")
		if err := api.Delete(limit(t), "deleted", nil); err != nil {
			t.Fatal(err)
		}
		got, err := finalizer.Add[K, P](limit(t), api, "example.com/late", stale) // 422
		if got != nil || err != nil {
			t.Errorf("Add to an object that is being deleted = %v, %v; want nil, nil", got, err)
		}
		if f := read(t, "deleted").GetFinalizers(); !slices.Equal(f, []string{"example.com/held"}) {
			t.Errorf("finalizers = %q", f)
		}
		if err := finalizer.Remove[K, P](limit(t), api, "example.com/held", stale); err != nil {
			t.Error(err)
		}
		if err := kube.AwaitGone[K, P](limit(t), api, "deleted", stale.GetUID(), nil); err != nil {
			t.Error(err)
		}
		if got, err := finalizer.Add[K, P](limit(t), api, "example.com/late", stale); got != nil || err != nil { // 404
			t.Errorf("Add to a deleted object = %v, %v; want nil, nil", got, err)
		}
		if err := finalizer.Remove[K, P](limit(t), api, "example.com/held", stale); err != nil { // 404
			t.Error(err)
		}
		fresh := create(t, "deleted", "example.com/held")
		if got, err := finalizer.Add[K, P](limit(t), api, "example.com/late", stale); got != nil || err != nil { // another UID
			t.Errorf("Add to a replaced object = %v, %v; want nil, nil", got, err)
		}
		if err := finalizer.Remove[K, P](limit(t), api, "example.com/held", stale); err != nil {
			t.Error(err)
		}
		if f := read(t, "deleted").GetFinalizers(); !slices.Equal(f, []string{"example.com/held"}) {
			t.Errorf("finalizers of the new object = %q", f)
		}
		release(t, fresh)
	})
}

// retryConflicts calls f until it succeeds, as long as other clients interfere.
func retryConflicts(ctx context.Context, t *testing.T, f func() error) {
	for {
		err := f()
		if err == nil {
			return
		}
		if ctx.Err() != nil || !errors.Is(err, kube.ErrConflict) && !errors.Is(err, kube.ErrInvalid) {
			t.Error(err)
			return
		}
	}
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
	t *testing.T, c *kube.Client, api *kube.API[K], name string, s *site,
) (stop func() error) {
	t.Helper()
	view := kube.ViewOf[K, P](newCache(t, c), &kube.Selection{Namespace: api.Namespace(), LabelSelector: tended})
	funcs := kube.FinalizerFuncs[K]{
		Apply: func(_ context.Context, obj *K) (kube.Action, error) {
			s.build(P(obj).GetName(), slices.Contains(P(obj).GetFinalizers(), name))
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
			return kube.Finalize[K, P](ctx, api, name, obj, funcs)
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
