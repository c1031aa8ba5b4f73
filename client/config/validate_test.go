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
		t.Error("a secret is in an error")
	}
	checkGolden(t, "broken.golden", []byte(report))
	for _, err := range got.(interface{ Unwrap() []error }).Unwrap() {
		mistake, ok := errors.AsType[*config.FieldError](err)
		if !ok || mistake.File == "" || mistake.Field == "" || mistake.Problem == "" {
			t.Errorf("%v does not say where it is", err)
		}
	}
}

func TestValidateIsContentWithWhatIsRight(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "",
		"everything a kubeconfig can say": `
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

func TestConfigValidateNamesFieldsOfGo(t *testing.T) {
	cert, key := validPair().cert, config.Secret(validPair().key)
	for _, test := range []struct {
		name string
		in   config.Config
		want string
	}{
		{"a good one", config.Config{Server: "https://host", ClientCertData: cert, ClientKeyData: key}, ""},
		{"the zero value", config.Config{}, "Server: is missing: write it as https://HOST:PORT"},
		{
			"a server without a scheme",
			config.Config{Server: "host:6443"},
			`Server: "host:6443" is not a URL: write it as https://HOST:PORT`,
		},
		{
			"two authorities",
			config.Config{Server: "https://host", CAFile: "testdata/full.yaml", CAData: cert},
			"CAFile: is given, and so is CAData: keep one of the two\n" +
				"CAFile: holds no certificate: give the certificate in PEM form (-----BEGIN CERTIFICATE-----)",
		},
		{
			"two certificates",
			config.Config{Server: "https://host", ClientCertFile: "missing", ClientCertData: cert, ClientKeyData: key},
			"ClientCertFile: is given, and so is ClientCertData: keep one of the two\n" +
				"ClientCertFile: there is no file missing: restore the file, or correct the path",
		},
		{
			"several, with the source",
			config.Config{BearerToken: "a", Password: "b", ProxyURL: "x", Namespace: "-", Source: "flags"},
			"flags: Server: is missing: write it as https://HOST:PORT\n" +
				"flags: ProxyURL: \"x\" is not the URL of a proxy: write it as http://, https:// or socks5:// and HOST:PORT\n" +
				"flags: Username: is given, and so is a token: keep one of the two\n" +
				"flags: Namespace: \"-\" is not a name for a namespace: " +
				"use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
		},
		{"a plugin and a provider", config.Config{
			Server:       "https://host",
			Exec:         &config.ExecConfig{Command: "a", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever},
			AuthProvider: &config.AuthProvider{Name: "oidc"},
		}, "Exec: is given, and so is AuthProvider: keep one of the two"},
		{
			"an empty plugin",
			config.Config{Server: "https://host", Exec: &config.ExecConfig{Env: []config.EnvVar{{}}}},
			"Exec.Command: is missing: name the program to run\n" +
				"Exec.APIVersion: is missing: write client.authentication.k8s.io/v1, or what the plugin speaks\n" +
				"Exec.Env: the name of number 1 is missing: name the variable",
		},
		{
			"what can't be sent",
			config.Config{Server: "https://host", Username: "a:b", Password: "c", Impersonate: config.Impersonation{
				User: "ann\r\nImpersonate-Group: system:masters", UID: "ok", Groups: []string{"größe", " admins"},
				Extra: map[string][]string{"a": {"b\x00"}, "": {"c"}},
			}},
			"Username: holds a colon, which the server takes for the end of the name: correct it, or use a token\n" +
				"Impersonate: has an extra without a name: name it\n" +
				"Impersonate: has line breaks or other control characters in its extra, or spaces around it: remove them\n" +
				"Impersonate: has line breaks or other control characters in its groups, or spaces around it: remove them\n" +
				"Impersonate: has line breaks or other control characters in its user, or spaces around it: remove them",
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
