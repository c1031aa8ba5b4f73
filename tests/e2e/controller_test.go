// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
)

// TestControllerConverges checks that a controller creates the desired state, and that it restores this state after
// other clients change it.
func TestControllerConverges(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	l := newLibrary(t, c)
	background(t, func(ctx context.Context) error {
		return documents.Run(ctx, c, &documents.Options{Dir: l.dir})
	})
	l.removeAfter(t)

	const many = 20
	name := func(i int) string { return fmt.Sprintf("doc-%d", i) }
	for i := range many {
		l.write(t, name(i), "first")
	}
	var owned *corev1.ConfigMap
	for i := range many {
		owned = l.awaitPublished(t, name(i), "first")
	}
	if ref := metav1.GetControllerOf(owned); ref == nil || ref.Kind != "Document" || ref.Name != owned.Name {
		t.Errorf("controller of %s = %v, want its document", owned.Name, ref)
	}

	l.write(t, name(0), "second")
	remove(t, l.maps, name(1))
	change := kube.MergePatch(map[string]any{"data": map[string]string{"document.txt": "changed"}})
	if _, err := l.maps.Patch(limit(t), name(2), change, &kube.PatchOptions{FieldManager: "intruder"}); err != nil {
		t.Fatal(err)
	}
	l.awaitPublished(t, name(0), "second")
	l.awaitPublished(t, name(1), "first")
	l.awaitPublished(t, name(2), "first")
}

// TestFailedReconcilesAreRetriedWithBackoff checks that a failed reconcile is retried with increasing delays, that it
// does not delay other objects, and that a success resets the delay.
func TestFailedReconcilesAreRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	create(t, maps, "flaky", "1")
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	type run struct {
		kube.Result
		began time.Time
	}
	runs := make(chan run, 100)
	var began guarded[time.Time] // start of the last reconcile of flaky
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{
		Logger:   debugLogger(t),
		Retry:    &kube.Backoff{InitialBackoff: 20 * time.Millisecond},
		OnResult: func(r kube.Result) { runs <- run{r, began.get()} },
	})
	errNotYet, failures := errors.New("not yet"), 0
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			if cm.Name != "flaky" {
				return kube.AwaitChange(), nil
			}
			began.set(time.Now())
			switch {
			case cm.Data["v"] == "panic":
				panic("the object says panic")
			case cm.Data["v"] == "terminal":
				return kube.Action{}, kube.Terminal(errNotYet)
			case failures < 5:
				failures++
				return kube.Action{}, errNotYet
			}
			failures = 0
			return kube.AwaitChange(), nil
		})
	})
	next := func(t *testing.T, name string) run {
		t.Helper()
		for {
			select {
			case r := <-runs:
				if r.Key.Ref.Name == name {
					return r
				}
			case <-limit(t).Done():
				t.Fatalf("%s was not reconciled", name)
			}
		}
	}
	sequence := func(t *testing.T) {
		t.Helper()
		var last run
		for i := range 5 {
			r := next(t, "flaky")
			if !errors.Is(r.Err, errNotYet) || r.Failures != i+1 || r.RetryIn != 20*time.Millisecond<<i {
				t.Fatalf("reconcile %d: error %v, %d failures, retry in %v", i, r.Err, r.Failures, r.RetryIn)
			}
			if gap := r.began.Sub(last.began); i > 0 && gap < last.RetryIn {
				t.Errorf("reconcile %d began after %v, want at least %v", i, gap, last.RetryIn)
			}
			last = r
		}
		if r := next(t, "flaky"); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	set := func(t *testing.T, value string) {
		t.Helper()
		if _, err := maps.Patch(limit(t), "flaky", setValue(value), nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("from the first failure to success", sequence)
	t.Run("a success resets the delay", func(t *testing.T) {
		set(t, "2")
		sequence(t)
	})
	t.Run("a panic is a failure of one reconcile", func(t *testing.T) {
		set(t, "panic")
		r := next(t, "flaky")
		if r.Err == nil || !strings.Contains(r.Err.Error(), "the object says panic") || r.RetryIn == 0 {
			t.Errorf("result = %+v, want the panic and a retry", r.Result)
		}
		create(t, maps, "steady", "1")
		if r := next(t, "steady"); r.Err != nil {
			t.Errorf("reconcile of another object: %v", r.Err)
		}
	})
	t.Run("a terminal error is not retried", func(t *testing.T) {
		set(t, "terminal")
		r := next(t, "flaky")
		for !errors.Is(r.Err, errNotYet) { // retries of the panic
			r = next(t, "flaky")
		}
		if r.RetryIn != 0 {
			t.Errorf("result = %+v, want no retry", r.Result)
		}
		set(t, "3")
		r = next(t, "flaky")
		for r.RetryIn == 0 && r.Causes[0].Type == controller.CauseRetry { // that of the panic was due during the last run
			r = next(t, "flaky")
		}
		if r.Err == nil || r.RetryIn == 0 {
			t.Errorf("result after a change = %+v, want an error and a retry", r.Result)
		}
	})
}

// TestControllerSeesItsWrites checks that each reconcile sees the writes of the previous one, even if it starts
// immediately.
func TestControllerSeesItsWrites(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	create(t, maps, "counter", "0")
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	var failures troubles
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{
		Logger: debugLogger(t),
		OnResult: func(r kube.Result) {
			if r.Err != nil {
				failures.add(r.Err)
			}
		},
	})
	const end = 30
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			n, err := strconv.Atoi(cm.Data["v"])
			if cm.Name != "counter" || n == end {
				return kube.AwaitChange(), nil
			}
			if err != nil {
				return kube.Action{}, err
			}
			cm.Data["v"] = strconv.Itoa(n + 1)
			_, err = maps.Update(ctx, cm, nil) // a conflict if the object is stale
			return kube.RequeueAfter(time.Millisecond), err
		})
	})
	_, err := kube.Await(limit(t), maps, "counter", func(cm *corev1.ConfigMap) error {
		if cm.Data["v"] != strconv.Itoa(end) {
			return fmt.Errorf("counter = %s, want %d", cm.Data["v"], end)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := failures.all(); err != nil {
		t.Errorf("failed reconciles: %v", err)
	}
}

// TestControllerDeletesNoObjectTwice checks that a reconcile does not count an object that the previous one deleted: it
// deletes the surplus objects one by one, and keeps the wanted number.
func TestControllerDeletesNoObjectTwice(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	secrets := kube.Namespaced[corev1.Secret](c, ns)
	const surplus, wanted = 20, 2
	for range surplus + wanted {
		item := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "item-"}}
		if _, err := secrets.Create(limit(t), item, nil); err != nil {
			t.Fatal(err)
		}
	}
	cache := newCache(t, c)
	items := kube.ViewOf[corev1.Secret](cache, &kube.Selection{Namespace: ns})
	owner := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, FieldSelector: "metadata.name=owner"})
	ctl := kube.NewController(kube.ForView(owner), &kube.ControllerOptions{Logger: debugLogger(t)}).
		Watches(kube.SourceView(items).Map(func(context.Context, *corev1.Secret) ([]kube.ObjectRef, error) {
			return []kube.ObjectRef{{Namespace: ns, Name: "owner"}}, nil
		}))
	settled := make(chan struct{})
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			if items.Store().Len() <= wanted {
				if cm.Data["v"] == "settled" {
					return kube.AwaitChange(), nil
				}
				cm.Data["v"] = "settled"
				if _, err := maps.Update(ctx, cm, nil); err != nil {
					return kube.Action{}, err
				}
				close(settled)
				return kube.AwaitChange(), nil
			}
			for item, err := range items.Store().All(nil) {
				if err != nil {
					return kube.Action{}, err
				}
				return kube.RequeueAfter(time.Millisecond), secrets.Delete(ctx, item.Name, &kube.DeleteOptions{UID: item.UID})
			}
			return kube.AwaitChange(), nil
		})
	})
	create(t, maps, "owner", "0")
	select {
	case <-settled:
	case <-limit(t).Done():
		t.Fatal("the controller did not delete the surplus objects in time")
	}
	left, err := secrets.List(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(left.Items); n != wanted {
		t.Errorf("%d objects are left, want %d", n, wanted)
	}
}

// TestStoppingControllerFinishesItsReconciles checks that a reconcile that is running when the controller stops can
// finish, and that no other reconcile begins after that.
func TestStoppingControllerFinishesItsReconciles(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns, LabelSelector: "work"})
	begun, finish := make(chan struct{}), make(chan struct{})
	stop := background(t, func(ctx context.Context) error {
		ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Concurrency: 1, Logger: debugLogger(t)})
		return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			begun <- struct{}{}
			select {
			case <-finish:
			case <-ctx.Done():
				return kube.Action{}, context.Cause(ctx)
			}
			_, err := maps.Patch(ctx, cm.Name, setValue("done"), nil)
			return kube.AwaitChange(), err
		})
	})
	for _, name := range []string{"one", "two"} {
		cm := configMap(name, "todo")
		cm.Labels = map[string]string{"work": ""}
		if _, err := maps.Create(limit(t), cm, nil); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		t.Fatalf("Run returned before the reconcile finished: %v", err)
	case <-begun:
		t.Fatal("another reconcile began")
	case <-time.After(200 * time.Millisecond): // nothing must happen
	}
	close(finish)
	if err := <-stopped; !errors.Is(err, errStopped) {
		t.Errorf("Run = %v, want the cause of its context", err)
	}
	done := 0
	for cm, err := range maps.All(limit(t), &kube.ListOptions{LabelSelector: "work"}) {
		if err != nil {
			t.Fatal(err)
		}
		if cm.Data["v"] == "done" {
			done++
		}
	}
	if done != 1 {
		t.Errorf("%d objects are done, want 1", done)
	}
}
