// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// failEvents makes the server respond with an internal error to requests that create events in a namespace, until the
// returned function is called.
func failEvents(t *testing.T, c *kube.Client, ns string) (end func()) {
	t.Helper()
	validating := kube.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c)
	_, err := validating.Create(limit(t), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "fails.e2e.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://" + freeAddr(t))},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{"events.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"events"},
				},
			}},
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	end = func() { deleteNow(t, validating, ns) }
	t.Cleanup(end)
	probe := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, EventTime: metav1.NowMicro(),
		ReportingController: "example.com/probe", ReportingInstance: "probe", Action: "Probe", Reason: "Probe", Type: "Normal",
		Regarding: corev1.ObjectReference{Namespace: ns, Kind: "ConfigMap", Name: "probe"},
	}
	eventually(t, "the webhook fails", func(ctx context.Context) error {
		_, err := kube.Namespaced[eventsv1.Event](c, ns).Create(ctx, probe, &kube.CreateOptions{DryRun: true})
		if !errors.Is(err, core.ErrInternal) {
			return fmt.Errorf("the response is %w, want an internal error", err)
		}
		return nil
	})
	return end
}

// endingNamespace returns a namespace that is being deleted until the test ends.
func endingNamespace(t *testing.T, c *kube.Client) (ns string) {
	t.Helper()
	held := configMap("held", "1")
	held.Finalizers = []string{"example.com/held"}
	t.Cleanup(func() { // after that of newNamespace, which requires that the namespace exists
		patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}})
		maps := kube.Namespaced[corev1.ConfigMap](c, ns)
		if _, err := maps.Patch(context.WithoutCancel(t.Context()), held.Name, patch, nil); err != nil {
			t.Error(err)
		}
	})
	ns = newNamespace(t, c)
	mustCreate(t, c, ns, held)
	if err := kube.ClusterWide[corev1.Namespace](c).Delete(limit(t), ns, nil); err != nil {
		t.Fatal(err)
	}
	return ns
}

// TestNamespacesThatRefuseEventsDoNotStopThoseOfOthers checks that events reach the server while it has an internal
// error for those of one namespace, and forbids those of a namespace that is being deleted. The former are written when
// the error has ended, the latter are dropped.
func TestNamespacesThatRefuseEventsDoNotStopThoseOfOthers(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	good, failing, ending := newNamespace(t, admin), newNamespace(t, admin), endingNamespace(t, admin)
	end := failEvents(t, admin, failing)
	var sent requests
	c := connect(t, &kube.ClientOptions{PerAttempt: []kube.Middleware{sent.layer}})
	rec := kube.NewRecorder(c, &kube.RecorderOptions{Controller: "example.com/e2e", Logger: debugLogger(t)})
	record := func(ns, name string) {
		rec.Event(in(ns, configMap(name, "")), kube.Event{Reason: "Tested"})
	}
	to := func(ns string) int { return sent.count("POST", "/namespaces/"+ns+"/events") }
	stored := func(ns string, want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d events in %s", want, ns), func(ctx context.Context) error {
			all, err := kube.Namespaced[eventsv1.Event](admin, ns).List(ctx, nil)
			if err == nil && len(all.Items) != want {
				err = fmt.Errorf("there are %d", len(all.Items))
			}
			return err
		})
	}
	const many = 20
	for n := range many { // before the others: Run writes in this order
		record(failing, fmt.Sprint("failing-", n))
		record(ending, fmt.Sprint("ending-", n))
	}
	record(good, "first")
	began := time.Now()
	stop := background(t, rec.Run)
	stored(good, 1)
	eventually(t, "another attempt in the failing namespace", func(context.Context) error {
		if n := to(failing); n < 3 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	record(good, "second")
	stored(good, 2)
	// The pauses of the failing namespace are 1 s, 2 s, 4 s and so on.
	n, took := to(failing), time.Since(began)
	if least := time.Duration(1<<(n-1)-1) * time.Second; took < least {
		t.Errorf("%d requests are sent for the failing namespace in %v, want pauses of %v in total", n, took, least)
	}
	if n := rec.Dropped(); n != many {
		t.Errorf("%d events are dropped, want the %d that are forbidden", n, many)
	}
	end()
	stored(failing, many)
	if err := stop(); !errors.Is(err, errStopped) {
		t.Errorf("Run = %v, want the cause of its context", err)
	}
	if n := rec.Dropped(); n != many {
		t.Errorf("%d events are dropped in the end, want %d", n, many)
	}
	stored(good, 2)
}
