// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/kube-go/sdk/kube"
)

// TestRepeatedEventsAreStoredOnceWithACount checks that a recorder creates events, and that it counts repeated events
// in one object.
func TestRepeatedEventsAreStoredOnceWithACount(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	obj := create(t, kube.Namespaced[corev1.ConfigMap](c, ns), "regarded", "1")
	other := create(t, kube.Namespaced[corev1.ConfigMap](c, ns), "related", "1")
	rec := kube.NewRecorder(c, &kube.RecorderOptions{
		Controller: "example.com/e2e", Instance: "e2e-1", StopTimeout: time.Minute, // for a busy machine
	})
	stop := background(t, rec.Run)

	rec.Event(obj, kube.Event{Reason: "Rendered", Action: "Render", Note: "as asked", Related: other})
	for i := range 7 {
		rec.Event(obj, kube.Event{Type: kube.EventWarning, Reason: "Failed", Note: fmt.Sprintf("attempt %d", i)})
	}
	list := kube.Namespaced[eventsv1.Event](c, ns)
	eventually(t, "both events exist", func(ctx context.Context) error {
		found, err := list.List(ctx, nil)
		if err == nil && len(found.Items) != 2 {
			err = fmt.Errorf("%d events, want 2", len(found.Items))
		}
		return err
	})
	if err := stop(); !errors.Is(err, errStopped) { // Run writes the last counts before it returns
		t.Errorf("Run = %v, want the cause of its context", err)
	}
	if n := rec.Dropped(); n != 0 {
		t.Errorf("%d events were dropped, want 0", n)
	}

	got := map[string]string{}
	for e, err := range list.All(limit(t), &kube.ListOptions{FieldSelector: "regarding.name=regarded"}) {
		if err != nil {
			t.Fatal(err)
		}
		count := int32(1)
		if e.Series != nil {
			count = e.Series.Count
		}
		got[e.Reason] = fmt.Sprintf("%s %s %q ×%d by %s", e.Type, e.Action, e.Note, count, e.ReportingController)
		if e.Regarding.Kind != "ConfigMap" || e.Regarding.UID != obj.UID {
			t.Errorf("%s regards %+v", e.Reason, e.Regarding)
		}
		if related := e.Related != nil && e.Related.UID == other.UID; related != (e.Reason == "Rendered") {
			t.Errorf("%s is related to %+v", e.Reason, e.Related)
		}
	}
	want := map[string]string{
		"Rendered": `Normal Render "as asked" ×1 by example.com/e2e`,
		"Failed":   `Warning Failed "attempt 0" ×7 by example.com/e2e`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	t.Run("the selector of kubectl describe finds them", func(t *testing.T) {
		selector := "involvedObject.kind=ConfigMap,involvedObject.uid=" + string(obj.UID)
		old, err := kube.Namespaced[corev1.Event](c, ns).List(limit(t), &kube.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for _, e := range old.Items {
			seen = append(seen, e.Reason+": "+e.Message)
		}
		if s := strings.Join(seen, "\n"); len(seen) != 2 || !strings.Contains(s, "Rendered: as asked") {
			t.Errorf("events = %q, want 2", seen)
		}
	})
}

// TestForbiddenEventsDoNotStopTheController checks that a controller reconciles without the permission to create
// events.
func TestForbiddenEventsDoNotStopTheController(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	const user = "e2e-mute"
	grant(t, admin, ns, user, "configmaps")
	cfg := *loadConfig(t, "")
	cfg.Impersonate.User = user
	c := connect(t, &kube.ClientOptions{Config: &cfg})
	rec := kube.NewRecorder(c, nil)
	background(t, rec.Run)

	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	done := make(chan string, 100)
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)})
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			rec.Event(cm, kube.Event{Reason: "Seen"})
			done <- cm.Name
			return kube.AwaitChange(), nil
		})
	})
	maps := kube.Namespaced[corev1.ConfigMap](admin, ns)
	for i := range 5 {
		want := fmt.Sprintf("work-%d", i)
		create(t, maps, want, "1")
		awaitValue(t, done, want)
	}
	eventually(t, "the events are dropped", func(context.Context) error {
		if n := rec.Dropped(); n < 5 {
			return fmt.Errorf("%d dropped events, want at least 5", n)
		}
		return nil
	})
}

// TestManagerWritesTheEventsOfLastRuns checks that events of runs that end after the stop reach the server, and that a
// series is counted across them, in the form in which kubectl describe reads it.
func TestManagerWritesTheEventsOfLastRuns(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	rec := kube.NewRecorder(c, &kube.RecorderOptions{
		Controller: "example.com/last", StopTimeout: time.Minute, // for a busy machine
	})
	m := kube.NewManager(c, nil)
	m.AddToAll(rec)
	selection := &kube.Selection{Namespace: ns, FieldSelector: "metadata.name=last"}
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), selection)
	running := make(chan string, 1)
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)})
	stopping := make(chan struct{})
	m.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		rec.Event(cm, kube.Event{Reason: "Saved", Note: "begun"})
		running <- cm.Name
		<-stopping
		for range 4 {
			rec.Event(cm, kube.Event{Reason: "Saved", Note: "stopping"})
		}
		rec.Event(cm, kube.Event{Reason: "Stopped", Type: kube.EventWarning, Note: "the program ends"})
		return kube.AwaitChange(), nil
	}))
	stop := background(t, m.Run)
	obj := create(t, maps, "last", "1")
	awaitValue(t, running, "last")
	go func() {
		defer close(stopping)
		for m.Leading() && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
	}()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := rec.Dropped(); n != 0 {
		t.Errorf("%d events were dropped", n)
	}
	// kubectl describe sorts by these fields and prints the count of the series.
	selector := "involvedObject.kind=ConfigMap,involvedObject.name=last,involvedObject.namespace=" + ns +
		",involvedObject.uid=" + string(obj.UID)
	found, err := kube.Namespaced[corev1.Event](c, ns).List(limit(t), &kube.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range found.Items {
		if e.EventTime.IsZero() || e.Series != nil && e.Series.LastObservedTime.Before(&e.EventTime) {
			t.Errorf("times of %s = %v, %v", e.Reason, e.EventTime, e.Series)
		}
		count := int32(1)
		if e.Series != nil {
			count = e.Series.Count
		}
		got[e.Reason] = fmt.Sprintf("%s %s ×%d from %s", e.Type, e.Message, count, e.ReportingController)
	}
	want := map[string]string{
		"Saved":   "Normal begun ×5 from example.com/last",
		"Stopped": "Warning the program ends ×1 from example.com/last",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
