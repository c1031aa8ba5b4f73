// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/base64"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client/config"
)

// TestTokensOfAnotherProgramAreAwaited checks that a program whose refresh token another program has just used waits as
// long as that program may need to write the new tokens.
func TestTokensOfAnotherProgramAreAwaited(t *testing.T) {
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":4e9}`))
	for after, want := range map[time.Duration]bool{0: true, saveTime: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			o := &config.ModifyOptions{Path: filepath.Join(t.TempDir(), "config")}
			write := func(id, refresh config.Secret) {
				if err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
					k.SetCluster("c", config.Cluster{Server: "https://kube.example.com"})
					k.SetUser("ann", config.User{AuthProvider: &config.AuthProvider{Name: "oidc", Config: map[string]config.Secret{
						issuerURL: "https://idp", clientID: "kube", idTokenKey: id, refreshKey: refresh,
					}}})
					k.SetContext("ann", config.Context{Cluster: "c", User: "ann"})
					k.CurrentContext = "ann"
					return nil
				}, o); err != nil {
					t.Error(err)
				}
			}
			write("", "used")
			cfg, err := config.Load(t.Context(), &config.Options{Path: o.Path})
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewOIDC(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(after, func() { write(config.Secret("a."+token+".b"), "new") }).Stop()
			if got := p.awaitOther(t.Context()) != nil; got != want || want && p.settings[refreshKey] != "new" {
				t.Errorf("after %v: awaitOther found tokens: %v, want %v", after, got, want)
			}
		})
	}
}
