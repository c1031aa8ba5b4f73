// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// whoami returns the user that the server recognizes in requests with a configuration.
func whoami(ctx context.Context, t *testing.T, cfg *kube.Config) (authenticationv1.UserInfo, error) {
	t.Helper()
	c := connect(t, &kube.ClientOptions{Config: cfg})
	res := kube.Resource{
		Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview", Plural: "selfsubjectreviews",
	}
	reviews := kube.APIOf[authenticationv1.SelfSubjectReview](c, res)
	got, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, nil)
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return got.Status.UserInfo, nil
}

// TestEachCredentialAuthenticates checks that a client can use each kind of credential, and that failures have clear
// errors.
func TestEachCredentialAuthenticates(t *testing.T) {
	b := builtinCluster(t) // the test needs users that exist only there
	admin := loadConfig(t, "admin")
	bare := kube.Config{
		Server: admin.Server, Namespace: "default", CAData: admin.CAData, CAFile: admin.CAFile, Source: "this test",
	}

	check := func(t *testing.T, cfg *kube.Config, want string) {
		t.Helper()
		user, err := whoami(t.Context(), t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if user.Username != want {
			t.Errorf("user = %q, want %q", user.Username, want)
		}
	}
	t.Run("client certificate from the kubeconfig", func(t *testing.T) {
		user, err := whoami(t.Context(), t, admin)
		if err != nil || !strings.Contains(strings.Join(user.Groups, " "), "system:masters") {
			t.Errorf("user = %+v, %v; want a member of system:masters", user, err)
		}
	})
	t.Run("client certificate from files", func(t *testing.T) {
		cfg := bare
		cfg.ClientCertFile, cfg.ClientKeyFile = b.AdminCertFiles()
		cfg.CAData, cfg.CAFile = nil, b.CAFile()
		if _, err := whoami(t.Context(), t, &cfg); err != nil {
			t.Error(err)
		}
	})
	t.Run("token from the kubeconfig", func(t *testing.T) { check(t, loadConfig(t, "token"), "token-user") })
	t.Run("token file that is replaced", func(t *testing.T) {
		cfg := bare
		cfg.BearerTokenFile = filepath.Join(t.TempDir(), "token")
		write := func(token string) {
			if err := os.WriteFile(cfg.BearerTokenFile, []byte(token+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(secret(t, "outdated token", "outdated-s3cret"))
		c := connect(t, &kube.ClientOptions{Config: &cfg})
		maps := kube.Namespaced[corev1.ConfigMap](c, "default")
		if _, err := maps.List(t.Context(), nil); !errors.Is(err, kube.ErrUnauthorized) {
			t.Fatalf("list with an outdated token: %v, want ErrUnauthorized", err)
		}
		write(b.Token())
		if _, err := maps.List(t.Context(), nil); err != nil {
			t.Errorf("list after the token was replaced: %v", err)
		}
	})
	t.Run("service account", func(t *testing.T) {
		token, err := b.ServiceAccountToken(t.Context(), "default", "default")
		if err != nil {
			t.Fatal(err)
		}
		cfg := bare
		cfg.BearerToken = kube.Secret(token)
		check(t, &cfg, "system:serviceaccount:default:default")
	})
	t.Run("impersonation", func(t *testing.T) {
		cfg := *admin
		cfg.Impersonate.User = "jane"
		cfg.Impersonate.Groups = []string{"writers"}
		cfg.Impersonate.Extra = map[string][]string{"example.com/Reason": {"test"}}
		user, err := whoami(t.Context(), t, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		groups := strings.Join(user.Groups, " ")
		if user.Username != "jane" || !strings.Contains(groups, "writers") || len(user.Extra) != 1 {
			t.Errorf("user = %+v, want jane in the group writers with one extra", user)
		}
	})
	t.Run("a user with read permission", func(t *testing.T) {
		c := connect(t, &kube.ClientOptions{Config: loadConfig(t, "token")})
		maps := kube.Namespaced[corev1.ConfigMap](c, "default")
		if _, err := maps.List(t.Context(), nil); err != nil {
			t.Error(err)
		}
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "no"}}, nil)
		if !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("create: %v, want ErrForbidden", err)
		}
	})
	t.Run("a wrong certificate authority", func(t *testing.T) {
		cfg := *admin
		cfg.CAData, cfg.CAFile = nil, ""
		_, err := whoami(t.Context(), t, &cfg)
		if _, ok := errors.AsType[*kube.ConnectError](err); !ok || !strings.Contains(err.Error(), "certificate-authority") {
			t.Errorf("error = %v, want a ConnectError that names certificate-authority", err)
		}
	})
	t.Run("a server that is down", func(t *testing.T) {
		cfg := *admin
		cfg.Server = "https://127.0.0.1:1"
		_, err := whoami(t.Context(), t, &cfg)
		if _, ok := errors.AsType[*kube.ConnectError](err); !ok || !strings.Contains(err.Error(), "nothing listens on this address") {
			t.Errorf("error = %v, want a ConnectError with a remedy", err)
		}
	})
}
