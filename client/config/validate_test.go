// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

func TestValidateReportsEveryMistake(t *testing.T) {
	text, err := os.ReadFile("testdata/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"empty": "\n", "lines": "hunter\n2\n"})
	got := parse(t, string(text), filepath.Join(dir, "config")).Validate(t.Context())
	if got == nil {
		t.Fatal("Validate() = nil")
	}
	report := strings.ReplaceAll(got.Error(), dir, "/k") + "\n"
	if strings.Contains(report, "hunter") {
		t.Error("an error contains a secret")
	}
	checkGolden(t, "broken.golden", []byte(report))
	for _, err := range got.(interface{ Unwrap() []error }).Unwrap() {
		mistake, ok := errors.AsType[*config.FieldError](err)
		if !ok || mistake.File == "" || mistake.Field == "" || mistake.Problem == "" {
			t.Errorf("%v does not name its place", err)
		}
	}
}

func TestValidateAcceptsValidKubeconfigs(t *testing.T) {
	for name, text := range map[string]string{
		"an empty kubeconfig": "",
		"a kubeconfig with all fields": `
current-context: a
future: {}
clusters: [{name: c, cluster: {server: "https://c/prefix", certificate-authority-data: $CERT, proxy-url: "socks5://u:p@proxy:1080"}}]
users:
- {name: cert, user: {client-certificate-data: $CERT, client-key-data: $KEY, token: a-token, as: a, as-groups: [b]}}
- {name: basic, user: {username: ann, password: p w}}
- {name: oidc, user: {auth-provider: {name: oidc, config: {Token: x}}}}
- {name: exec, user: {exec: {command: a, apiVersion: client.authentication.k8s.io/v1beta1, env: [{name: A}]}}}
contexts: [{name: a, context: {cluster: c, user: cert, namespace: kube-system}}, {name: b, context: {cluster: c}}]`,
	} {
		if err := parse(t, text, "").Validate(t.Context()); err != nil {
			t.Errorf("Validate() of %s = %v", name, err)
		}
	}
}

func TestConfigValidateNamesGoFields(t *testing.T) {
	cert, key := validPair().cert, config.Secret(validPair().key)
	for _, test := range []struct {
		name string
		in   config.Config
		want string
	}{
		{"a valid one", config.Config{Server: "https://host", ClientCertData: cert, ClientKeyData: key}, ""},
		{"the zero value", config.Config{}, "Server: is missing: write it as https://HOST:PORT"},
		{
			"a server without a scheme",
			config.Config{Server: "host:6443"},
			`Server: "host:6443" is not a URL: write it as https://HOST:PORT`,
		},
		{
			"ports that do not exist",
			config.Config{Server: "https://host:65536", ProxyURL: "http://proxy:0"},
			"Server: \"https://host:65536\" has an invalid port: use a port from 1 to 65535\n" +
				"ProxyURL: \"http://proxy:0\" has an invalid port: use a port from 1 to 65535",
		},
		{"the largest port", config.Config{Server: "https://host:65535"}, ""},
		{
			"two certificate authorities",
			config.Config{Server: "https://host", CAFile: "testdata/full.yaml", CAData: cert},
			"CAFile: conflicts with CAData: keep one of the two\n" +
				"CAFile: contains no certificate: provide the certificate in PEM format (-----BEGIN CERTIFICATE-----)",
		},
		{
			"two certificates",
			config.Config{Server: "https://host", ClientCertFile: "missing", ClientCertData: cert, ClientKeyData: key},
			"ClientCertFile: conflicts with ClientCertData: keep one of the two\n" +
				"ClientCertFile: file missing does not exist: restore the file, or correct the path",
		},
		{
			"several mistakes, with the source",
			config.Config{BearerToken: "a", Password: "b", ProxyURL: "x", Namespace: "-", Source: "flags"},
			"flags: Server: is missing: write it as https://HOST:PORT\n" +
				"flags: ProxyURL: \"x\" is not the URL of a proxy: write it as http://, https:// or socks5:// and HOST:PORT\n" +
				"flags: Username: conflicts with a token: keep one of the two\n" +
				"flags: Namespace: \"-\" is not a valid namespace name: " +
				"use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
		},
		{"a plugin and a provider", config.Config{
			Server:       "https://host",
			Exec:         &config.ExecConfig{Command: "a", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever},
			AuthProvider: &config.AuthProvider{Name: "oidc"},
		}, "Exec: conflicts with AuthProvider: keep one of the two"},
		{
			"an empty plugin",
			config.Config{Server: "https://host", Exec: &config.ExecConfig{Env: []config.EnvVar{{}}}},
			"Exec.Command: is missing: name the program to run\n" +
				"Exec.APIVersion: is missing: write client.authentication.k8s.io/v1, or the version that the plugin supports\n" +
				"Exec.Env: the name of variable 1 is missing: set the name",
		},
		{
			"values that cannot be sent in headers",
			config.Config{Server: "https://host", Username: "a:b", Password: "c", Impersonate: config.Impersonation{
				User: "ann\r\nImpersonate-Group: system:masters", UID: "ok", Groups: []string{"größe", " admins"},
				Extra: map[string][]string{"a": {"b\x00"}, "": {"c"}},
			}},
			"Username: contains a colon, which ends the name in basic authentication: correct it, or use a token\n" +
				"Impersonate: contains an extra without a name: name it\n" +
				"Impersonate: contains control characters, or leading or trailing spaces, in extra: remove them\n" +
				"Impersonate: contains control characters, or leading or trailing spaces, in groups: remove them\n" +
				"Impersonate: contains control characters, or leading or trailing spaces, in user: remove them",
		},
		{
			"an empty provider",
			config.Config{Server: "https://host", AuthProvider: &config.AuthProvider{}},
			"AuthProvider.Name: is missing: name it, or use exec",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkError(t, test.in.Validate(t.Context()), test.want)
		})
	}
}
