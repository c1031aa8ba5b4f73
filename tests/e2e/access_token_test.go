// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	v1 "github.com/kube-go/sdk/examples/access-token/api/v1"
	"github.com/kube-go/sdk/examples/access-token/tokens"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// readMaps is the permission to read ConfigMaps.
func readMaps() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}}}
}

// TestAccessToken checks that the token of the example has its permissions in several namespaces and in the cluster,
// and that they go with the spec and with the token.
func TestAccessToken(t *testing.T) {
	c := connect(t, nil)
	near, far := newNamespace(t, c), newNamespace(t, c)
	background(t, func(ctx context.Context) error { return tokens.Run(ctx, c) })
	api := kube.Namespaced[v1.AccessToken](c, near)
	token := &v1.AccessToken{
		ObjectMeta: metav1.ObjectMeta{Name: "ci"},
		Spec: v1.AccessTokenSpec{
			Namespaced: []v1.NamespacePermissions{{Namespace: near, Rules: readMaps()}, {Namespace: far, Rules: readMaps()}},
			Cluster:    []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
		},
	}
	eventually(t, "the kind is installed", func(ctx context.Context) error {
		_, err := api.Create(ctx, token, nil)
		return err
	})
	ready := kube.StatusCondition[v1.AccessToken]("Ready", metav1.ConditionTrue)
	token, err := kube.Await(limit(t), api, "ci", ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := kube.Namespaced[corev1.Secret](c, near).Get(limit(t), token.Status.Secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := c.Config()
	bearer := connect(t, &kube.ClientOptions{Config: &kube.Config{
		Server: own.Server, CAData: own.CAData, CAFile: own.CAFile,
		BearerToken: config.Secret(secret.Data[corev1.ServiceAccountTokenKey]), Source: "this test",
	}})
	may := func(what string, want bool, list func(context.Context) error) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s: %t", what, want), func(ctx context.Context) error {
			err := list(ctx)
			if want == (err == nil) && (err == nil || errors.Is(err, kube.ErrForbidden)) {
				return nil
			}
			return fmt.Errorf("list: %w", err)
		})
	}
	maps := func(ns string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := kube.Namespaced[corev1.ConfigMap](bearer, ns).List(ctx, nil)
			return err
		}
	}
	nodes := func(ctx context.Context) error {
		_, err := kube.ClusterWide[corev1.Node](bearer).List(ctx, nil)
		return err
	}
	may("its namespace", true, maps(near))
	may("another namespace", true, maps(far))
	may("the cluster", true, nodes)

	spec := map[string]any{"namespaced": []any{map[string]any{"namespace": near, "rules": readMaps()}}, "cluster": nil}
	if _, err := api.Patch(limit(t), "ci", kube.MergePatch(map[string]any{"spec": spec}), nil); err != nil {
		t.Fatal(err)
	}
	may("another namespace", false, maps(far))
	may("the cluster", false, nodes)
	may("its namespace", true, maps(near))
	if err := kube.DeleteAndWait(limit(t), api, "ci", nil); err != nil {
		t.Error(err)
	}
	if left := granted(t, c, near); left != "" {
		t.Errorf("the deleted token has left %s", left)
	}
}

// TestAccessTokenLeavesOtherServiceAccountsAlone checks that a token with the name of an existing service account gives
// it no permissions.
func TestAccessTokenLeavesOtherServiceAccountsAlone(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	if _, err := kube.Namespaced[corev1.ServiceAccount](c, ns).Create(limit(t), account, nil); err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) error { return tokens.Run(ctx, c) })
	api := kube.Namespaced[v1.AccessToken](c, ns)
	eventually(t, "the kind is installed", func(ctx context.Context) error {
		_, err := api.Create(ctx, &v1.AccessToken{
			ObjectMeta: metav1.ObjectMeta{Name: "other"},
			Spec: v1.AccessTokenSpec{
				Namespaced: []v1.NamespacePermissions{{Namespace: ns, Rules: readMaps()}}, Cluster: readMaps(),
			},
		}, nil)
		return err
	})
	_, err := kube.Await(limit(t), api, "other", func(token *v1.AccessToken) error {
		for _, cond := range token.Status.Conditions {
			if cond.Type == "Ready" && strings.Contains(cond.Message, "ServiceAccount "+ns+"/other exists") {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %+v", token.Status.Conditions)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := granted(t, c, ns); got != "" {
		t.Errorf("the service account has got %s", got)
	}
	if err := kube.DeleteAndWait(limit(t), api, "other", nil); err != nil {
		t.Error(err)
	}
}

// granted returns the objects of the tokens of a namespace.
func granted(t testing.TB, c *kube.Client, ns string) string {
	t.Helper()
	var all []string
	add := func(kind, name string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(name, ns+"."); ok {
			all = append(all, kind+" "+rest)
		}
	}
	for o, err := range kube.ClusterWide[rbacv1.Role](c).All(t.Context(), nil) {
		add("role", o.Name, err)
	}
	for o, err := range kube.ClusterWide[rbacv1.RoleBinding](c).All(t.Context(), nil) {
		add("binding", o.Name, err)
	}
	for o, err := range kube.ClusterWide[rbacv1.ClusterRole](c).All(t.Context(), nil) {
		add("cluster role", o.Name, err)
	}
	for o, err := range kube.ClusterWide[rbacv1.ClusterRoleBinding](c).All(t.Context(), nil) {
		add("cluster binding", o.Name, err)
	}
	return strings.Join(all, ", ")
}

// TestAccessTokenSurvivesEachCrash kills the program before and after each of its writes, from the creation of a token
// to its deletion.
func TestAccessTokenSurvivesEachCrash(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := tokens.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	coverage, ns := new(fsmtest.Coverage), newNamespace(t, c)
	ready := kube.StatusCondition[v1.AccessToken]("Ready", metav1.ConditionTrue)
	fsmtest.Crash(t, fsmtest.Scenario[v1.AccessToken]{
		Connect: atWrites(t, c),
		Machine: func(c *kube.Client) *fsm.Machine[v1.AccessToken] {
			return tokens.New(c, &fsm.Options{OnStep: coverage.OnStep})
		},
		Create: func(tb testing.TB, c *kube.Client) *v1.AccessToken {
			tb.Helper()
			token, err := kube.Namespaced[v1.AccessToken](c, ns).Create(tb.Context(), &v1.AccessToken{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"},
				Spec: v1.AccessTokenSpec{
					Namespaced: []v1.NamespacePermissions{{Namespace: "default", Rules: readMaps()}},
				},
			}, nil)
			if err != nil {
				tb.Fatal(err)
			}
			return token
		},
		Between: func(tb testing.TB, c *kube.Client, token *v1.AccessToken) {
			tb.Helper()
			if token.DeletionTimestamp != nil {
				return
			}
			awaitIssued(tb, kube.Namespaced[corev1.Secret](c, ns), token.Name)
			if ready(token) != nil {
				return
			}
			if err := kube.Namespaced[v1.AccessToken](c, ns).Delete(tb.Context(), token.Name, nil); err != nil {
				tb.Error(err)
			}
		},
		Done: func(token *v1.AccessToken) bool { return token == nil },
		Final: func(tb testing.TB, c *kube.Client, _ *v1.AccessToken) string {
			tb.Helper()
			return granted(tb, c, ns)
		},
	})
	coverage.Check(t, tokens.New(c, nil).Graph())
}

// awaitIssued waits until the server has put the token into a secret, if the secret exists. Otherwise the number of
// passes and requests would depend on how busy the server is.
func awaitIssued(tb testing.TB, secrets *kube.API[corev1.Secret], name string) {
	tb.Helper()
	secret, err := secrets.GetOrNil(tb.Context(), name, nil)
	if err == nil && secret != nil {
		_, err = kube.Await(tb.Context(), secrets, name, func(s *corev1.Secret) error {
			if len(s.Data[corev1.ServiceAccountTokenKey]) == 0 {
				return errors.New("the server has not issued the token")
			}
			return nil
		}, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
