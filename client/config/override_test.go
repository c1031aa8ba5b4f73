// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"testing"

	"github.com/kube-go/sdk/client/config"
)

func TestOverridesReplaceRelatedFields(t *testing.T) {
	const text = `
current-context: x
contexts: [{name: x, context: {cluster: c, user: u, namespace: shop}}]
clusters: [{name: c, cluster: {server: "https://c", tls-server-name: api, certificate-authority-data: $CERT}}]
users: [{name: u, user: {client-certificate-data: $CERT, client-key-data: $KEY, as: bob, as-uid: "1", as-groups: [ops]}},
  {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login, interactiveMode: Never}}},
  {name: basic, user: {username: ann, password: a-password}},
  {name: token, user: {token: a-token, tokenFile: /token}},
  {name: broken, user: {client-certificate: /missing.crt, token: a-token}}]`
	cert, key := validPair().cert, config.Secret(validPair().key)
	exec := &config.ExecConfig{Command: "other", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever}
	before := config.Config{
		Server: "https://c", Namespace: "shop", TLSServerName: "api", CAData: cert,
		ClientCertData: cert, ClientKeyData: key,
		Impersonate: config.Impersonation{User: "bob", UID: "1", Groups: []string{"ops"}},
		Source:      `context "x" of /k/config`,
	}
	// inPlace is for users that have neither a client certificate nor impersonation.
	inPlace := func(edit func(*config.Config)) func(*config.Config) {
		return func(c *config.Config) {
			c.ClientCertData, c.ClientKeyData, c.Impersonate = nil, "", config.Impersonation{}
			edit(c)
		}
	}
	for _, test := range []struct {
		name     string
		user     string
		override config.Config
		edit     func(*config.Config)
	}{
		{"an empty override", "", config.Config{Source: "ignored"}, func(*config.Config) {}},
		{"the namespace", "", config.Config{Namespace: "other"}, func(c *config.Config) { c.Namespace = "other" }},
		{
			"the server clears the TLS server name", "",
			config.Config{Server: "https://other"},
			func(c *config.Config) { c.Server, c.TLSServerName = "https://other", "" },
		},
		{
			"the server and the TLS server name", "",
			config.Config{Server: "other:6443", TLSServerName: "name"},
			func(c *config.Config) { c.Server, c.TLSServerName = "https://other:6443", "name" },
		},
		{
			"the TLS server name", "", config.Config{TLSServerName: "name"}, func(c *config.Config) { c.TLSServerName = "name" },
		},
		{
			"insecure-skip-tls-verify replaces the certificate authority", "",
			config.Config{InsecureSkipTLSVerify: true},
			func(c *config.Config) { c.InsecureSkipTLSVerify, c.CAData = true, nil },
		},
		{
			"the certificate authority", "",
			config.Config{CAData: append(cert, cert...)},
			func(c *config.Config) { c.CAData = append(cert, cert...) },
		},
		{
			"the proxy and compression", "",
			config.Config{ProxyURL: "http://proxy", DisableCompression: true},
			func(c *config.Config) { c.ProxyURL, c.DisableCompression = "http://proxy", true },
		},
		{
			"a client certificate and its key", "",
			config.Config{ClientCertData: otherPair().cert, ClientKeyData: config.Secret(otherPair().key)},
			func(c *config.Config) {
				c.ClientCertData, c.ClientKeyData = otherPair().cert, config.Secret(otherPair().key)
			},
		},
		{
			"a token is added to a certificate", "",
			config.Config{BearerToken: "b-token"},
			func(c *config.Config) { c.BearerToken = "b-token" },
		},
		{
			"a token replaces a plugin", "exec",
			config.Config{BearerToken: "b-token"},
			inPlace(func(c *config.Config) { c.BearerToken = "b-token" }),
		},
		{
			"a token replaces a password", "basic",
			config.Config{BearerToken: "b-token"},
			inPlace(func(c *config.Config) { c.BearerToken = "b-token" }),
		},
		{
			"a token replaces a token and its file", "token",
			config.Config{BearerToken: "b-token"},
			inPlace(func(c *config.Config) { c.BearerToken = "b-token" }),
		},
		{
			"a password replaces a token", "token",
			config.Config{Username: "eve", Password: "b-password"},
			inPlace(func(c *config.Config) { c.Username, c.Password = "eve", "b-password" }),
		},
		{
			"a plugin replaces a token", "token",
			config.Config{Exec: exec},
			inPlace(func(c *config.Config) { c.Exec = exec }),
		},
		{
			"a certificate replaces a missing file", "broken",
			config.Config{ClientCertData: cert, ClientKeyData: key},
			inPlace(func(c *config.Config) {
				c.ClientCertData, c.ClientKeyData, c.BearerToken = cert, key, "a-token"
			}),
		},
		{
			"an impersonated user replaces the groups of another", "",
			config.Config{Impersonate: config.Impersonation{User: "eve"}},
			func(c *config.Config) { c.Impersonate = config.Impersonation{User: "eve"} },
		},
		{"the UID, groups and extra of the impersonated user", "", config.Config{Impersonate: config.Impersonation{
			UID: "2", Groups: []string{"dev"}, Extra: map[string][]string{"a": {"b"}},
		}}, func(c *config.Config) {
			c.Impersonate = config.Impersonation{
				User: "bob", UID: "2", Groups: []string{"dev"}, Extra: map[string][]string{"a": {"b"}},
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			kc := parse(t, text, "/k/config")
			got, err := kc.Config(t.Context(), &config.Options{User: test.user, Override: &test.override})
			if err != nil {
				t.Fatal(err)
			}
			want := before
			test.edit(&want)
			checkConfig(t, *got, want)
		})
	}
}

func TestMistakesInOverridesNameTheOverride(t *testing.T) {
	const text = `
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c"}}]
users: [{name: u, user: {client-certificate-data: $CERT, client-key-data: $KEY}}]`
	for _, test := range []struct {
		name     string
		override config.Config
		want     string
	}{
		{
			"a missing file",
			config.Config{CAFile: "/missing"},
			"override: CAFile: file /missing does not exist: restore the file, or correct the path",
		},
		{
			"a key that does not match the kubeconfig's certificate",
			config.Config{ClientKeyData: config.Secret(otherPair().key)},
			`/k: user "u": client-certificate-data: cannot be used with its key: private key does not match public key: ` +
				"provide a certificate and its key in PEM format",
		},
		{
			"a token and a user name",
			config.Config{BearerToken: "a", Username: "b"},
			"override: Username: conflicts with a token: keep one of the two",
		},
		{
			"an invalid URL",
			config.Config{Server: "ftp://ann:hunter2@host"},
			`override: Server: "ftp://redacted@host" is not an https or http URL: write it as https://HOST:PORT`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, text, "/k").Config(t.Context(), &config.Options{Override: &test.override})
			checkError(t, err, test.want)
		})
	}
}

func TestOverridingTheServerNeedsNoKubeconfig(t *testing.T) {
	got, err := new(config.Kubeconfig).Config(t.Context(), &config.Options{
		Override: &config.Config{Server: "https://host", BearerToken: "a-token"},
	})
	if err != nil {
		t.Fatal(err)
	}
	checkConfig(t, *got, config.Config{
		Server: "https://host", Namespace: "default", BearerToken: "a-token", Source: "override",
	})
	_, err = new(config.Kubeconfig).Config(t.Context(), &config.Options{
		Override: &config.Config{Server: "https://host", ClientCertData: validPair().cert},
	})
	checkError(t, err, "override: ClientKeyFile: is missing: add the key of the client certificate")
}

func TestOverridingDoesNotChangeTheKubeconfig(t *testing.T) {
	const text = `
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./login, installHint: "\e[0m"}}}]`
	kc := parse(t, text, "/k")
	for range 2 {
		cfg, err := kc.Config(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Exec.Command, cfg.Server = "changed", "changed"
	}
	if e := kc.Users[0].User.Exec; e.Command != "./login" || e.InstallHint != "\x1b[0m" || e.InteractiveMode != "" {
		t.Errorf("the kubeconfig now has command %q, hint %q, mode %q", e.Command, e.InstallHint, e.InteractiveMode)
	}
}
