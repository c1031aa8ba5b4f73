// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tokens_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/access-token/api/v1"
	"github.com/kube-go/sdk/examples/access-token/tokens"
	"github.com/kube-go/sdk/kube"
)

// server is a transport to a server that has one service account, and returns what it is asked to apply.
type server struct{ account *corev1.ServiceAccount }

// RoundTrip responds to a request.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	code := http.StatusOK
	body, err := json.Marshal(s.account)
	switch {
	case r.Method == http.MethodPatch:
		body, err = io.ReadAll(r.Body)
	case !strings.HasSuffix(r.URL.Path, "/serviceaccounts/default"):
		code, body = http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`)
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// TestAForeignServiceAccountGetsNoPermissions checks that a token does nothing with the name of a service account that
// it has not created.
func TestAForeignServiceAccountGetsNoPermissions(t *testing.T) {
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	token := &v1.AccessToken{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "default", UID: "1", Generation: 1},
		Spec: v1.AccessTokenSpec{
			Namespaced: []v1.NamespacePermissions{{Namespace: "prod", Rules: rules}}, Cluster: rules,
		},
	}
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "default", UID: "2", ResourceVersion: "1"},
	}
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{
		Config: &kube.Config{Server: "https://cluster.test"}, Transport: server{account},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tokens.New(c, nil).Plan(t.Context(), token)
	if err != nil || p.Err == nil || !strings.Contains(p.Err.Error(), "ServiceAccount prod/default exists") {
		t.Fatalf("the plan is %+v, %v, want that the service account is refused", p, err)
	}
	if len(p.Actions) > 0 {
		t.Errorf("the plan has the actions %+v, want none", p.Actions)
	}
}
