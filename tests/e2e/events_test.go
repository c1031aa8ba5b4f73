// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/kube-go/sdk/kube"
)

// TestEvents promises that people see what a controller did, and that what happens again and again is told once, with a
// count.
func TestEvents(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	obj := create(t, kube.Namespaced[corev1.ConfigMap](c, ns), "regarded", "1")
	other := create(t, kube.Namespaced[corev1.ConfigMap](c, ns), "related", "1")
	rec := kube.NewRecorder(c, &kube.RecorderOptions{Controller: "example.com/e2e", Instance: "e2e-1"})
	stop := background(t, rec.Run)

	rec.Event(obj, kube.Event{Reason: "Rendered", Action: "Render", Note: "as asked", Related: other})
	for i := range 7 {
		rec.Event(obj, kube.Event{Type: kube.EventWarning, Reason: "Failed", Note: fmt.Sprintf("attempt %d", i)})
	}
	list := kube.Namespaced[eventsv1.Event](c, ns)
	eventually(t, "both are there", func(ctx context.Context) error {
		found, err := list.List(ctx, nil)
		if err == nil && len(found.Items) != 2 {
			err = fmt.Errorf("there are %d events", len(found.Items))
		}
		return err
	})
	if err := stop(); !errors.Is(err, errStopped) { // it writes the last counts
		t.Errorf("Run = %v, want the cause of its context", err)
	}
	if n := rec.Dropped(); n != 0 {
		t.Errorf("%d events were dropped", n)
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

	t.Run("as kubectl describe looks for them", func(t *testing.T) {
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
			t.Errorf("events = %q", seen)
		}
	})
}

// TestForbiddenEvents promises that a controller that may not write events does its work all the same.
func TestForbiddenEvents(t *testing.T) {
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
	background(t, func(ctx context.Context) error {
		return kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)}).Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
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
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
}
