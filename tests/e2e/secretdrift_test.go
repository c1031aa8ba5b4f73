// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// passwordSecret returns a Secret that declares a password with stringData.
func passwordSecret(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"user": "admin", "password": password},
	}
}

// TestDriftOfADeclaredSecretIsRepaired checks that a pass restores the values of stringData that another client has
// changed or removed, and that it applies nothing if they are unchanged.
func TestDriftOfADeclaredSecretIsRepaired(t *testing.T) {
	t.Parallel()
	sent := &requests{}
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
	ns := newNamespace(t, c)
	secrets := kube.Namespaced[corev1.Secret](connect(t, nil), ns)
	d := newDeclarer(t, c, ns)
	applies := func() int { return sent.count("PATCH", "/secrets/login") }
	check := func(what, password string, want int) {
		t.Helper()
		d.must(t, declare(passwordSecret(password))...)
		stored, err := secrets.Get(limit(t), "login", nil)
		if err != nil || string(stored.Data["password"]) != password || string(stored.Data["user"]) != "admin" {
			t.Errorf("%s: the data is %q, %v", what, stored.Data, err)
		}
		if n := applies(); n != want {
			t.Errorf("%s: %d applies, want %d", what, n, want)
		}
		d.must(t, declare(passwordSecret(password))...)
		if n := applies(); n != want {
			t.Errorf("%s: a pass without a change has applied the secret", what)
		}
	}
	drift := func(data map[string]any) {
		t.Helper()
		if _, err := secrets.Patch(limit(t), "login", kube.MergePatch(map[string]any{"data": data}), nil); err != nil {
			t.Fatal(err)
		}
	}
	check("a new secret", "right", 1)
	drift(map[string]any{"password": base64.StdEncoding.EncodeToString([]byte("wrong"))})
	check("a changed value", "right", 2)
	drift(map[string]any{"password": nil, "user": nil})
	check("removed values", "right", 3)
	check("a new declaration", "better", 4)
	drift(map[string]any{"other": base64.StdEncoding.EncodeToString([]byte("of another client"))})
	check("a value that is not declared", "better", 4)
}

// quotePasswords makes the server reject the Secrets of a namespace whose password begins with hunter, with a message
// that has the encoded password.
func quotePasswords(t *testing.T, c *kube.Client, ns string, reason metav1.StatusReason) {
	t.Helper()
	policies := kube.ClusterWide[admissionv1.ValidatingAdmissionPolicy](c)
	bindings := kube.ClusterWide[admissionv1.ValidatingAdmissionPolicyBinding](c)
	_, err := policies.Create(limit(t), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression:        `!string(object.data.password).startsWith("aHVudGVy")`,
				MessageExpression: `"weak: " + string(object.data.password)`,
				Reason:            &reason,
			}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNow(t, policies, ns) })
	_, err = bindings.Create(limit(t), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: ns, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNow(t, bindings, ns) })
	eventually(t, "the policy is in effect", func(ctx context.Context) error {
		_, err := kube.Namespaced[corev1.Secret](c, ns).Create(ctx, passwordSecret("hunter0"), &kube.CreateOptions{DryRun: true})
		if err == nil {
			return errors.New("a weak password is accepted")
		}
		if !strings.Contains(err.Error(), "weak: aHVudGVyMA") {
			return fmt.Errorf("the response has no encoded password: %w", err)
		}
		return nil
	})
}

// TestErrorsAboutDeclaredSecretsHaveNoValues checks that neither the error of a pass nor an error that it wraps has a
// value of a Secret, although the server's response has it.
func TestErrorsAboutDeclaredSecretsHaveNoValues(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(password)), "=")
	for _, tt := range []struct {
		reason metav1.StatusReason
		want   error
	}{
		{metav1.StatusReasonInvalid, kube.ErrInvalid},
		{metav1.StatusReasonForbidden, kube.ErrForbidden},
	} {
		t.Run(string(tt.reason), func(t *testing.T) {
			t.Parallel()
			c := connect(t, nil)
			ns := newNamespace(t, c)
			quotePasswords(t, c, ns, tt.reason)
			d := newDeclarer(t, c, ns)
			d.must(t, declare(passwordSecret("right"))...)
			_, err := d.pass(limit(t), declare(passwordSecret(password))...)
			status, ok := errors.AsType[*core.StatusError](err)
			if !ok || !errors.Is(err, tt.want) {
				t.Fatalf("pass = %v, want the server's response, and %v", err, tt.want)
			}
			texts := []string{fmt.Sprintf("%v %+v", err, err), status.Error(), status.Status.String(), string(status.Body)}
			for wrapped := err; wrapped != nil; wrapped = errors.Unwrap(wrapped) {
				texts = append(texts, wrapped.Error())
			}
			for _, text := range texts {
				if strings.Contains(text, password) || strings.Contains(text, encoded) {
					t.Errorf("an error has the password: %s", text)
				}
			}
			stored, err := kube.Namespaced[corev1.Secret](c, ns).Get(limit(t), "login", nil)
			if err != nil || string(stored.Data["password"]) != "right" {
				t.Errorf("the data is %q, %v, want the last valid one", stored.Data, err)
			}
		})
	}
}
