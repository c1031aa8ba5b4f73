// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// TestStoreEqualsServer checks that a store and its subscribers have the objects of the server after random changes and
// faults of the connection.
func TestStoreEqualsServer(t *testing.T) {
	const operations = 300
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the sequence must be the same in each run
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	awaitRootCA(t, direct, ns)
	api := kube.Namespaced[corev1.ConfigMap](direct, ns)
	link, cfg := newProxy(t, loadConfig(t, ""))
	cache := newCache(t, connect(t, &kube.ClientOptions{Config: cfg}))
	view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns})
	background(t, view.Run)
	if err := view.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	known := subscribe(t, view)

	names := map[string]string{} // each name with the value on the server
	for i := range operations {
		name, value := fmt.Sprintf("cm-%d", random.IntN(25)), strconv.Itoa(i)
		var err error
		switch _, exists := names[name]; {
		case !exists:
			_, err = api.Create(limit(t), configMap(name, value), nil)
		case random.IntN(3) == 0:
			err = api.Delete(limit(t), name, nil)
			value = ""
		default:
			_, err = api.Patch(limit(t), name, setValue(value), nil)
		}
		if err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
		names[name] = value
		if value == "" {
			delete(names, name)
		}

		switch {
		case i == 50:
			link.cut()
		case i == 90:
			link.restore()
		case random.IntN(20) == 0:
			link.drop()
		case random.IntN(40) == 0:
			link.dropAfter(random.Int64N(50_000))
		}
	}

	last := create(t, api, "last", "last")
	names["last"] = "last"
	if err := view.Store().WaitForVersion(limit(t), last.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	list, err := api.List(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutManagers(list.Items), stored(t, view.Store())); diff != "" {
		t.Errorf("store (-server +store):\n%s", diff)
	}
	names["kube-root-ca.crt"] = ""
	eventually(t, "the subscriber has received all changes", func(context.Context) error {
		if diff := cmp.Diff(names, known()); diff != "" {
			return fmt.Errorf("values (-server +subscriber):\n%s", diff)
		}
		return nil
	})
	// The last fault may have its effect late.
	eventually(t, "the view is healthy", func(context.Context) error { return view.Health() })
}

// stored returns the objects of a store by name.
func stored(t *testing.T, s *kube.Store[corev1.ConfigMap]) map[string]*corev1.ConfigMap {
	t.Helper()
	var objects []*corev1.ConfigMap
	for cm, err := range s.All(nil) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, cm)
	}
	if s.Len() != len(objects) {
		t.Errorf("Len = %d, but there are %d objects", s.Len(), len(objects))
	}
	return withoutManagers(objects)
}

// withoutManagers returns objects by name, without their managed fields, which a store does not keep.
func withoutManagers(objects []*corev1.ConfigMap) map[string]*corev1.ConfigMap {
	byName := map[string]*corev1.ConfigMap{}
	for _, cm := range objects {
		cm.ManagedFields = nil
		byName[cm.Name] = cm
	}
	return byName
}

// subscribe subscribes to a view and keeps a model of its objects: names to values. It returns a function that returns
// the model. It checks that each change agrees with the model.
func subscribe(t *testing.T, view *kube.View[corev1.ConfigMap]) (known func() map[string]string) {
	t.Helper()
	var model guarded[map[string]string]
	model.set(map[string]string{})
	background(t, func(ctx context.Context) error {
		for change, err := range view.Subscribe(ctx) {
			if err != nil {
				return err
			}
			if change.Type == kube.Bookmark {
				continue
			}
			next := maps.Clone(model.get())
			_, known := next[change.Ref.Name]
			if known != (change.Type != kube.Added) && change.Type != kube.Deleted && !isReplacement(change) {
				return fmt.Errorf("received %s of %s; known before: %t", change.Type, change.Ref, known)
			}
			delete(next, change.Ref.Name)
			if change.New.Exists() {
				var cm corev1.ConfigMap
				if err := change.New.Decode(&cm); err != nil {
					return err
				}
				next[cm.Name] = cm.Data["v"]
			}
			model.set(next)
		}
		return errors.New("the subscription has ended without an error")
	})
	return model.get
}

// TestReadYourWrites checks that a store that has waited for the resource version of a write has that write.
func TestReadYourWrites(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	api := kube.Namespaced[corev1.ConfigMap](c, ns)
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	background(t, view.Run)
	ref := kube.RefOf(create(t, api, "counter", "0"))
	for i := range 50 {
		value := strconv.Itoa(i + 1)
		written, err := api.Patch(limit(t), ref.Name, setValue(value), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := view.Store().WaitForVersion(limit(t), written.ResourceVersion); err != nil {
			t.Fatal(err)
		}
		read, err := view.Store().Get(ref)
		if err != nil {
			t.Fatal(err)
		}
		if read.Data["v"] != value || read.ResourceVersion != written.ResourceVersion {
			t.Fatalf("read %s at version %s, want %s at version %s",
				read.Data["v"], read.ResourceVersion, value, written.ResourceVersion)
		}
	}
}

// TestViewsShareOneWatch checks that several views of the same objects, of which controllers run two, use one watch as
// long as one of the views runs.
func TestViewsShareOneWatch(t *testing.T) {
	var sent requests
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
	ns := newNamespace(t, c)
	api := kube.Namespaced[corev1.ConfigMap](c, ns)
	cache := newCache(t, c)
	var views []*kube.View[corev1.ConfigMap]
	var stops []func() error
	var seen []chan string // the objects that the controllers reconcile
	for i := range 3 {
		view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns})
		run, names := view.Run, make(chan string, 100)
		if i < 2 {
			ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)})
			run = func(ctx context.Context) error {
				return ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
					names <- cm.Name
					return kube.AwaitChange(), nil
				})
			}
			seen = append(seen, names)
		}
		views = append(views, view)
		stops = append(stops, background(t, run))
	}
	made := create(t, api, "made", "1")
	for _, names := range seen {
		awaitValue(t, names, "made")
	}
	for _, view := range views {
		if err := view.Store().WaitForVersion(limit(t), made.ResourceVersion); err != nil {
			t.Fatal(err)
		}
	}
	for _, stop := range stops[:2] { // the first view has started the watch
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("Run = %v, want the cause of its context", err)
		}
	}
	later := create(t, api, "later", "1")
	if err := views[2].Store().WaitForVersion(limit(t), later.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	const watch = "/configmaps?"
	lists, all := sent.count(watch, "sendInitialEvents=true"), sent.count(watch, "watch=true")
	if lists != 1 || all != 1 {
		t.Errorf("%d lists in %d watches, want 1 in 1", lists, all)
	}

	labelled := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, LabelSelector: "a=b"})
	background(t, labelled.Run)
	if err := labelled.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	if labelled.Store().Len() != 0 || sent.count(watch, "labelSelector=a%3Db") != 1 {
		t.Errorf("a view of another selection has %d objects, want none, from a separate watch", labelled.Store().Len())
	}
	if got := slices.Sorted(maps.Keys(stored(t, views[2].Store()))); !slices.Contains(got, "later") {
		t.Errorf("the shared store has %q, want the object later, too", got)
	}
}
