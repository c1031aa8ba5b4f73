// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
)

func ExampleNewPlugin() {
	cfg := &config.Config{
		Server: "https://kube.example.com",
		Exec:   &config.ExecConfig{Command: "/tmp/aws", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever},
	}
	plugin, err := auth.NewPlugin(cfg, &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"aws", "kubelogin"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = plugin.Certificate(context.Background())
	fmt.Println(err)
	// Output: exec plugin "/tmp/aws": cannot be run: stat /tmp/aws: no such file or directory: install it, or correct the command
}

func ExampleNewOIDC() {
	_, err := auth.NewOIDC(&config.Config{AuthProvider: &config.AuthProvider{
		Name: "oidc", Config: map[string]config.Secret{"idp-issuer-url": "http://idp.example.com", "client-id": "kube"},
	}}, nil)
	fmt.Println(err)
	// Output: auth-provider oidc: idp-issuer-url "http://idp.example.com" is not an https URL
}
