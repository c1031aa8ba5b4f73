// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
	"github.com/kube-go/sdk/kubetest/conformance"
)

func TestWebhooksConformance(t *testing.T) {
	conformance.RunWebhooks(t, func(webhooks http.Handler) *conformance.WebhookServer {
		return &conformance.WebhookServer{
			Client: kubetest.Start(t, &kubetest.Options{Webhooks: webhooks}).Client(nil),
			Reach: func(path string) admissionregistrationv1.WebhookClientConfig {
				return admissionregistrationv1.WebhookClientConfig{
					Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "webhooks", Path: &path},
				}
			},
		}
	})
}

func TestWebhookConfigurationsNeedAHandler(t *testing.T) {
	text := failed(t, func(tb testing.TB) {
		tb.Helper()
		kubetest.Start(tb, &kubetest.Options{Objects: []core.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		}})
	})
	const want = "it needs Options.Webhooks, a handler of the webhooks"
	if !strings.Contains(text, want) {
		t.Errorf("the failure is %q, want %q", text, want)
	}
}

// TestExploreCallsWebhooks runs a controller whose writes, and those of its users, are reviewed by its own webhooks.
func TestExploreCallsWebhooks(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Options: &kubetest.Options{Files: []string{"testdata/webhooks.yaml"}, Webhooks: newWebhooks()},
			Program: func(ctx context.Context, c *kube.Client) error {
				maps := kube.Namespaced[corev1.ConfigMap](c, "default")
				ctl := kube.NewController(kube.For[corev1.ConfigMap](kube.NewCache(c, nil)), nil)
				return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
					if cm.Data["color"] == "" {
						return kube.AwaitChange(), nil
					}
					_, err := maps.Apply(ctx, &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Name: cm.Name}, Data: map[string]string{"seen": cm.Data["color"]},
					}, &kube.ApplyOptions{FieldManager: "painter", Force: true})
					return kube.AwaitChange(), err
				})
			},
			Story: func(s *kubetest.Server) {
				maps := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "default")
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"color": "blue"}}
				if _, err := maps.Create(t.Context(), cm, nil); err != nil {
					t.Fatal(err)
				}
				s.Settle()
				got, err := maps.Get(t.Context(), "a", nil)
				if err != nil || got.Labels["painted"] != "yes" || got.Data["seen"] != "blue" {
					t.Errorf("the object is %+v, %v", got, err)
				}
				_, err = maps.Patch(t.Context(), "a", kube.MergePatch(`{"data":{"color":"red"}}`), nil)
				if err == nil || !strings.Contains(err.Error(), "data.color: must not be red") {
					t.Errorf("Patch = %v, want a denial", err)
				}
			},
		}
	})
}

// configuration returns the configuration of a mutating webhook for an operation on a resource of the group "".
func configuration(
	operation admissionregistrationv1.OperationType, resource string,
) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "shop.example.com", AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "webhooks"},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{operation},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource},
				},
			}},
		}},
	}
}

func TestOwnersOfAWebhookAreMergedWithOneWarning(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}
	s := kubetest.Start(t, &kubetest.Options{
		Objects: []core.Object{
			configuration(admissionregistrationv1.OperationAll, "configmaps"),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: owner.UID}},
		},
		Webhooks: kube.MutateHandler(func(_ context.Context, r *kube.WebhookRequest[corev1.ConfigMap]) error {
			r.Object.OwnerReferences = []metav1.OwnerReference{owner, owner}
			r.Warn("the owner is set")
			r.Warn("the owner is set")
			return nil
		}, nil),
	})
	var warnings []string
	c := s.Client(&kube.ClientOptions{OnWarning: func(_ context.Context, w kube.Warning) {
		warnings = append(warnings, w.Text)
	}})
	maps := kube.Namespaced[corev1.ConfigMap](c, "default")
	cm, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil)
	if err != nil || len(cm.OwnerReferences) != 1 {
		t.Errorf("Create = %v, %v, want one owner", cm, err)
	}
	if len(warnings) != 2 || warnings[0] != "the owner is set" ||
		!strings.Contains(warnings[1], "duplicate entries after mutating admission happens") {
		t.Errorf("the warnings are %q", warnings)
	}
	cm, err = maps.Patch(t.Context(), "a", kube.MergePatch(`{"data":{"a":"b"}}`), nil)
	if err != nil || len(cm.OwnerReferences) != 1 {
		t.Errorf("Patch = %v, %v, want one owner", cm, err)
	}
}

func TestEvictionsAreNotReviewedAsDeletions(t *testing.T) {
	s := kubetest.Start(t, &kubetest.Options{
		Objects: []core.Object{
			configuration(admissionregistrationv1.Delete, "pods/*"),
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			},
		},
		Webhooks: http.NotFoundHandler(),
	})
	if err := kube.Pods(s.Client(nil), "default").Evict(t.Context(), "a", nil); err != nil {
		t.Error(err)
	}
}

// newWebhooks returns the webhooks of the controller.
func newWebhooks() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mutate", kube.MutateHandler(func(_ context.Context, r *kube.WebhookRequest[corev1.ConfigMap]) error {
		metav1.SetMetaDataLabel(&r.Object.ObjectMeta, "painted", "yes")
		return nil
	}, nil))
	mux.Handle("/validate", kube.ValidateHandler(func(_ context.Context, r *kube.WebhookRequest[corev1.ConfigMap]) error {
		if r.Object.Data["color"] == "red" {
			return errors.New("data.color: must not be red")
		}
		return nil
	}, nil))
	return mux
}
