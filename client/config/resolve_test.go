// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-go/sdk/client/config"
)

// base is a kubeconfig with a context for every kind of credential.
const base = `
current-context: token
clusters:
- {name: main, cluster: {server: "https://main:6443"}}
- {name: plain, cluster: {server: "http://127.0.0.1:8001", insecure-skip-tls-verify: true, proxy-url: "http://proxy"}}
- {name: named, cluster: {server: "https://named", tls-server-name: api, certificate-authority-data: $CERT}}
- {name: insecure, cluster: {server: "https://insecure", insecure-skip-tls-verify: true, disable-compression: true}}
- name: exec
  cluster:
    server: https://exec
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}, {name: other, extension: 1}]
users:
- {name: nobody, user: {}}
- {name: token, user: {token: a-token}}
- {name: basic, user: {username: ann, password: a-password}}
- {name: cert, user: {client-certificate-data: $CERT, client-key-data: $KEY}}
- {name: old, user: {client-certificate-data: $OLDCERT, client-key-data: $OLDKEY}}
- {name: old-with-token, user: {client-certificate-data: $OLDCERT, client-key-data: $OLDKEY, token: a-token}}
- {name: acting, user: {token: a-token, as: bob, as-uid: "1", as-groups: [ops], as-user-extra: {scopes: [a]}}}
- {name: oidc, user: {auth-provider: {name: oidc, config: {client-id: kube}}}}
- {name: exec, user: {exec: {command: login, args: [a], apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always,
    env: [{name: A, value: b}], provideClusterInfo: true, installHint: "run \e[31mthis\e[0m\n", future: 1}}}
- {name: exec-beta, user: {exec: {command: login, apiVersion: client.authentication.k8s.io/v1beta1}}}
contexts:
- {name: token, context: {cluster: main, user: token, namespace: shop}}
- {name: anonymous, context: {cluster: main}}
- {name: nobody, context: {cluster: main, user: nobody}}
- {name: basic, context: {cluster: main, user: basic}}
- {name: cert, context: {cluster: main, user: cert}}
- {name: old, context: {cluster: main, user: old}}
- {name: old-with-token, context: {cluster: main, user: old-with-token}}
- {name: acting, context: {cluster: main, user: acting}}
- {name: oidc, context: {cluster: main, user: oidc}}
- {name: exec, context: {cluster: exec, user: exec}}
- {name: exec-beta, context: {cluster: main, user: exec-beta}}
- {name: plain, context: {cluster: plain, user: acting}}
- {name: named, context: {cluster: named, user: token}}
- {name: insecure, context: {cluster: insecure, user: token}}
- {name: lost-cluster, context: {cluster: mian, user: token}}
- {name: lost-user, context: {cluster: main, user: tokn}}
- {name: no-cluster, context: {user: token}}
- {name: bad-namespace, context: {cluster: main, user: token, namespace: Shop_1}}
`

const source = `context "token" of /k/config`

func TestKubeconfigResolvesToConfig(t *testing.T) {
	cert, key := validPair().cert, config.Secret(validPair().key)
	for _, test := range []struct {
		name string
		opts *config.Options
		want config.Config
	}{
		{
			"the current context", nil,
			config.Config{Server: "https://main:6443", Namespace: "shop", BearerToken: "a-token", Source: source},
		},
		{
			"another context", &config.Options{Context: "basic"},
			config.Config{
				Server: "https://main:6443", Namespace: "default", Username: "ann", Password: "a-password",
				Source: `context "basic" of /k/config`,
			},
		},
		{
			"a context without a user", &config.Options{Context: "anonymous"},
			config.Config{Server: "https://main:6443", Namespace: "default", Source: `context "anonymous" of /k/config`},
		},
		{
			"an empty user", &config.Options{Context: "nobody"},
			config.Config{Server: "https://main:6443", Namespace: "default", Source: `context "nobody" of /k/config`},
		},
		{
			"a client certificate", &config.Options{Context: "cert"},
			config.Config{
				Server: "https://main:6443", Namespace: "default", ClientCertData: cert, ClientKeyData: key,
				Source: `context "cert" of /k/config`,
			},
		},
		{
			"an expired certificate together with a token", &config.Options{Context: "old-with-token"},
			config.Config{
				Server: "https://main:6443", Namespace: "default", BearerToken: "a-token",
				ClientCertData: oldPair().cert, ClientKeyData: config.Secret(oldPair().key),
				Source: `context "old-with-token" of /k/config`,
			},
		},
		{
			"impersonation", &config.Options{Context: "acting"},
			config.Config{
				Server: "https://main:6443", Namespace: "default", BearerToken: "a-token",
				Impersonate: config.Impersonation{
					User: "bob", UID: "1", Groups: []string{"ops"}, Extra: map[string][]string{"scopes": {"a"}},
				},
				Source: `context "acting" of /k/config`,
			},
		},
		{
			"an auth provider", &config.Options{Context: "oidc"},
			config.Config{
				Server: "https://main:6443", Namespace: "default",
				AuthProvider: &config.AuthProvider{
					Name: "oidc", Config: map[string]config.Secret{"client-id": "kube"}, File: "/k/config", User: "oidc",
				},
				Source: `context "oidc" of /k/config`,
			},
		},
		{
			"an exec plugin with the extension of its cluster, and a hint without control characters",
			&config.Options{Context: "exec"},
			config.Config{
				Server: "https://exec", Namespace: "default",
				Exec: &config.ExecConfig{
					Command: "login", Args: []string{"a"}, Env: []config.EnvVar{{Name: "A", Value: "b"}},
					APIVersion: config.ExecV1, InteractiveMode: config.InteractiveAlways, ProvideClusterInfo: true,
					InstallHint: "run [31mthis[0m\n", ClusterConfig: json.RawMessage(`{"audience":"a"}`),
				},
				Source: `context "exec" of /k/config`,
			},
		},
		{
			"an exec plugin of the older version", &config.Options{Context: "exec-beta"},
			config.Config{
				Server: "https://main:6443", Namespace: "default",
				Exec: &config.ExecConfig{
					Command: "login", APIVersion: config.ExecV1Beta1, InteractiveMode: config.InteractiveIfAvailable,
				},
				Source: `context "exec-beta" of /k/config`,
			},
		},
		{
			"plain http drops the credentials", &config.Options{Context: "plain"},
			config.Config{
				Server: "http://127.0.0.1:8001", Namespace: "default", ProxyURL: "http://proxy",
				Impersonate: config.Impersonation{
					User: "bob", UID: "1", Groups: []string{"ops"}, Extra: map[string][]string{"scopes": {"a"}},
				},
				Source: `context "plain" of /k/config`,
			},
		},
		{
			"a server with another TLS name", &config.Options{Context: "named"},
			config.Config{
				Server: "https://named", Namespace: "default", TLSServerName: "api", CAData: cert, BearerToken: "a-token",
				Source: `context "named" of /k/config`,
			},
		},
		{
			"a server that is not verified", &config.Options{Context: "insecure"},
			config.Config{
				Server: "https://insecure", Namespace: "default", InsecureSkipTLSVerify: true, DisableCompression: true,
				BearerToken: "a-token", Source: `context "insecure" of /k/config`,
			},
		},
		{
			"another cluster", &config.Options{Cluster: "insecure"},
			config.Config{
				Server: "https://insecure", Namespace: "shop", InsecureSkipTLSVerify: true, DisableCompression: true,
				BearerToken: "a-token", Source: source,
			},
		},
		{
			"another cluster replaces a missing one", &config.Options{Context: "lost-cluster", Cluster: "main"},
			config.Config{
				Server: "https://main:6443", Namespace: "default", BearerToken: "a-token",
				Source: `context "lost-cluster" of /k/config`,
			},
		},
		{
			"another user", &config.Options{User: "basic"},
			config.Config{
				Server: "https://main:6443", Namespace: "shop", Username: "ann", Password: "a-password", Source: source,
			},
		},
		{
			"another namespace", &config.Options{Namespace: "other"},
			config.Config{Server: "https://main:6443", Namespace: "other", BearerToken: "a-token", Source: source},
		},
		{
			"another namespace replaces an invalid one", &config.Options{Context: "bad-namespace", Namespace: "other"},
			config.Config{
				Server: "https://main:6443", Namespace: "other", BearerToken: "a-token",
				Source: `context "bad-namespace" of /k/config`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parse(t, base, "/k/config").Config(t.Context(), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, *got, test.want)
		})
	}
}

// checkConfig compares all fields of a Config, including those that are not printed.
func checkConfig(t testing.TB, got, want config.Config) {
	t.Helper()
	type plain config.Config // without the methods that hide fields
	if diff := cmp.Diff(plain(want), plain(got), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Config (-want +got):\n%s", diff)
	}
}

func TestKubeconfigReportsWhyItDoesNotResolve(t *testing.T) {
	const contexts = `(contexts: "token", "anonymous", "nobody", "basic", "cert", "old", "old-with-token", "acting", ` +
		`"oidc", "exec", "exec-beta", "plain", "named", "insecure", "lost-cluster", "lost-user", "no-cluster", ` +
		`"bad-namespace")`
	const clusters = `(clusters: "main", "plain", "named", "insecure", "exec")`
	const users = `(users: "nobody", "token", "basic", "cert", "old", "old-with-token", "acting", "oidc", "exec", ` +
		`"exec-beta")`
	for _, test := range []struct {
		name string
		opts *config.Options
		want string
	}{
		{
			"a context that does not exist", &config.Options{Context: "nowhere-near"},
			`/k/config: context "nowhere-near" does not exist ` + contexts,
		},
		{
			"a misspelled context", &config.Options{Context: "Tokne"},
			`/k/config: context "Tokne" does not exist: did you mean "token"? ` + contexts,
		},
		{
			"a cluster that does not exist", &config.Options{Cluster: "man"},
			`/k/config: cluster "man" does not exist: did you mean "main"? ` + clusters,
		},
		{
			"a user that does not exist", &config.Options{User: "xxxxx"},
			`/k/config: user "xxxxx" does not exist ` + users,
		},
		{
			"a context whose cluster does not exist", &config.Options{Context: "lost-cluster"},
			`/k/config: context "lost-cluster": cluster: cluster "mian" does not exist: did you mean "main"? ` + clusters,
		},
		{
			"a context whose user does not exist", &config.Options{Context: "lost-user"},
			`/k/config: context "lost-user": user: user "tokn" does not exist: did you mean "token"? ` + users,
		},
		{
			"a context without a cluster", &config.Options{Context: "no-cluster"},
			`/k/config: context "no-cluster": cluster: is missing: name one ` + clusters,
		},
		{
			"an invalid namespace", &config.Options{Context: "bad-namespace"},
			`/k/config: context "bad-namespace": namespace: "Shop_1" is not a valid namespace name: ` +
				`use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit`,
		},
		{
			"an invalid namespace in the options", &config.Options{Namespace: "Shop_1"},
			`override: Namespace: "Shop_1" is not a valid namespace name: ` +
				`use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit`,
		},
		{
			"a path", &config.Options{Path: "/other"},
			"options: Path is set, but the kubeconfig has already been read: leave Path empty",
		},
		{
			"two namespaces", &config.Options{Namespace: "a", Override: &config.Config{Namespace: "b"}},
			"options: Namespace and Override.Namespace differ: set one of them",
		},
		{
			"credentials for plain http", &config.Options{Context: "plain", Override: &config.Config{BearerToken: "b-token"}},
			"options: Override contains credentials, which are not sent over http: use an https server",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parse(t, base, "/k/config").Config(t.Context(), test.opts)
			if got != nil {
				t.Errorf("Config() = %v, want nil", got)
			}
			checkError(t, err, test.want)
		})
	}
}

func TestKubeconfigWithoutAUsableCurrentContext(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"an empty kubeconfig", "", "no kubeconfig found: /k/config is empty"},
		{
			"no current context", "contexts: [{name: a}, {name: b}]",
			"/k/config: current-context: is missing: choose one with `kubectl config use-context`, or name one (contexts: " +
				"\"a\", \"b\")",
		},
		{
			"a current context and no contexts", "current-context: a",
			`/k/config: current-context: context "a" does not exist: there are no contexts`,
		},
		{
			"a current context that does not exist", "current-context: aa\ncontexts: [{name: ab}]",
			`/k/config: current-context: context "aa" does not exist: did you mean "ab"? (contexts: "ab")`,
		},
		{
			"a context without a cluster, and no clusters", "current-context: a\ncontexts: [{name: a}]",
			`/k/config: context "a": cluster: is missing: name one, and add it: the kubeconfig has no clusters`,
		},
		{
			"a misspelled field", "CurrentContext: a\ncontexts: [{name: a}]",
			`/k/config: CurrentContext: is not a known field: write "current-context"`,
		},
		{
			"many contexts", "current-context: zzzzzz\ncontexts: [" + strings.Repeat("{name: a%}, ", 25) + "]",
			`/k/config: current-context: context "zzzzzz" does not exist (contexts: "aa", "ab", "ac", "ad", "ae", "af", ` +
				`"ag", "ah", "ai", "aj", "ak", "al", "am", "an", "ao", "ap", "aq", "ar", "as", "at" and 5 more)`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for c := 'a'; c <= 'z'; c++ {
				test.in = strings.Replace(test.in, "%", string(c), 1)
			}
			_, err := parse(t, test.in, "/k/config").Config(t.Context(), nil)
			checkError(t, err, test.want)
		})
	}
	_, err := new(config.Kubeconfig).Config(t.Context(), nil)
	if !errors.Is(err, config.ErrNoConfig) {
		t.Errorf("Config() of the zero value = %v, want ErrNoConfig", err)
	}
}

func TestClusterAndUserNeedNoContext(t *testing.T) {
	const text = `
clusters: [{name: a, cluster: {server: "https://a"}}, {name: b, cluster: {server: "https://b"}}]
users: [{name: ann, user: {token: a-token}}]
contexts: [{name: x}]`
	got, err := parse(t, text, "/k").Config(t.Context(), &config.Options{Cluster: "b", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	checkConfig(t, *got, config.Config{
		Server: "https://b", Namespace: "default", BearerToken: "a-token", Source: `cluster "b" of /k`,
	})
	_, err = parse(t, text, "/k").Config(t.Context(), &config.Options{User: "ann"})
	checkError(t, err,
		"/k: current-context: is missing: choose one with `kubectl config use-context`, or name one (contexts: \"x\")")
}

func TestPathsAreRelativeToTheFileThatNamesThem(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a/config":       "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n",
		"b/config":       `clusters: [{name: c, cluster: {server: "https://c", certificate-authority: ../pki/ca.crt}}]`,
		"pki/ca.crt":     string(validPair().cert),
		"c/d/u.crt":      string(validPair().cert),
		"c/d/keys/u.key": string(validPair().key),
		"c/d/token":      " a-token\n",
	})
	for _, test := range []struct{ name, command, want string }{
		{"a bare name is looked up in PATH", "login", "login"},
		{"a name with a separator is a path", "bin/login", filepath.Join(dir, "c/d/bin/login")},
		{"a name that begins with a dot is a path", "./login", filepath.Join(dir, "c/d/login")},
		{"an absolute path is unchanged", "/bin/login", "/bin/login"},
	} {
		t.Run(test.name, func(t *testing.T) {
			kc, err := config.Read(t.Context(), filepath.Join(dir, "a/config"), filepath.Join(dir, "b/config"))
			if err != nil {
				t.Fatal(err)
			}
			users := parse(t, `users: [{name: u, user: {client-certificate: u.crt, client-key: keys/u.key, tokenFile: ./token,
				exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: `+test.command+`}}}]`,
				filepath.Join(dir, "c/d/config"))
			cfg, err := config.Merge(kc, users).Config(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, *cfg, config.Config{
				Server:          "https://c",
				Namespace:       "default",
				CAFile:          filepath.Join(dir, "pki/ca.crt"),
				ClientCertFile:  filepath.Join(dir, "c/d/u.crt"),
				ClientKeyFile:   filepath.Join(dir, "c/d/keys/u.key"),
				BearerTokenFile: filepath.Join(dir, "c/d/token"),
				BearerToken:     "a-token",
				Exec: &config.ExecConfig{
					Command: test.want, APIVersion: config.ExecV1Beta1, InteractiveMode: config.InteractiveIfAvailable,
				},
				Source: `context "x" of ` + filepath.Join(dir, "a/config"),
			})
		})
	}
}

func TestRelativePathsWithoutADirectoryKeepTheirSeparator(t *testing.T) {
	const text = `current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./login}}}]`
	for _, file := range []string{"", "config", "./config"} {
		cfg, err := parse(t, text, file).Config(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(cfg.Exec.Command) == cfg.Exec.Command {
			t.Errorf("file %q: the command %q would be looked up in PATH", file, cfg.Exec.Command)
		}
	}
}

func TestServersNeedNoScheme(t *testing.T) {
	const tls = ", insecure-skip-tls-verify: true"
	for _, test := range []struct{ in, more, want string }{
		{"localhost:8080", "", "http://localhost:8080"},
		{"localhost", "", "http://localhost"},
		{"10.0.0.1:6443", tls, "https://10.0.0.1:6443"},
		{"10.0.0.1:6443", ", certificate-authority-data: $CERT", "https://10.0.0.1:6443"},
		{"[::1]:6443", tls, "https://[::1]:6443"},
		{"host/", tls, "https://host/"},
		{"https://host/prefix", "", "https://host/prefix"},
		{"https://host/prefix/?a=b#c", "", "https://host/prefix/"},
		{"HTTPS://host", "", "https://host"},
	} {
		text := `current-context: x
contexts: [{name: x, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: "` + test.in + `"` + test.more + `}}]`
		cfg, err := parse(t, text, "").Config(t.Context(), nil)
		if err != nil {
			t.Errorf("Config() with server %q: %v", test.in, err)
		} else if cfg.Server != test.want {
			t.Errorf("Config() with server %q has %q, want %q", test.in, cfg.Server, test.want)
		}
	}
}

func TestOnlyConnectionsReportAnExpiredCertificate(t *testing.T) {
	kc := parse(t, base, "/k/config")
	_, err := kc.Config(t.Context(), &config.Options{Context: "old"})
	if !errors.Is(err, config.ErrCertificateExpired) {
		t.Fatalf("Config() = %v, want ErrCertificateExpired", err)
	}
	const start = `/k/config: user "old": client-certificate-data: expired 3 days ago, at 2`
	const end = `Z: renew it, or get a new kubeconfig`
	if text := err.Error(); !strings.HasPrefix(text, start) || !strings.HasSuffix(text, end) {
		t.Errorf("error is %s", text)
	}
	if err := kc.Validate(t.Context()); errors.Is(err, config.ErrCertificateExpired) {
		t.Errorf("Validate() = %v, want no ErrCertificateExpired", err)
	}
	if _, err := kc.Config(t.Context(), nil); err != nil {
		t.Errorf("another context: %v", err)
	}
}

func TestCheckClientCertificate(t *testing.T) {
	dir := writeFiles(t, map[string]string{"old.crt": string(oldPair().cert), "new.crt": string(validPair().cert)})
	for _, test := range []struct {
		name string
		in   config.Config
		want string
	}{
		{"no certificate", config.Config{BearerToken: "a"}, ""},
		{"a valid certificate", config.Config{ClientCertData: validPair().cert}, ""},
		{"a valid certificate in a file", config.Config{ClientCertFile: filepath.Join(dir, "new.crt")}, ""},
		{"a missing file", config.Config{ClientCertFile: filepath.Join(dir, "missing.crt")}, ""},
		{"invalid PEM", config.Config{ClientCertData: []byte("x")}, ""},
		{
			"an expired certificate together with a token",
			config.Config{ClientCertData: oldPair().cert, BearerToken: "a", Source: source},
			source + ": ClientCertData: expired 3 days ago",
		},
		{
			"a certificate that expired hours ago",
			config.Config{ClientCertData: newPair(-5*time.Hour - time.Minute).cert},
			"ClientCertData: expired 5 hours ago",
		},
		{
			"a certificate that expired seconds ago",
			config.Config{ClientCertData: newPair(-2 * time.Second).cert},
			"ClientCertData: expired ",
		},
		{
			"an expired certificate after its key",
			config.Config{ClientCertData: append(oldPair().key, oldPair().cert...)},
			"ClientCertData: expired 3 days ago",
		},
		{
			"an expired certificate in a file",
			config.Config{ClientCertFile: filepath.Join(dir, "old.crt")},
			"ClientCertFile: expired 3 days ago",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.in.CheckClientCertificate(t.Context())
			if got := errors.Is(err, config.ErrCertificateExpired); got != (test.want != "") {
				t.Fatalf("CheckClientCertificate() = %v, want %q", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("CheckClientCertificate() = %v, want %q", err, test.want)
			}
		})
	}
}

func TestMissingFilesAreReported(t *testing.T) {
	const text = `current-context: x
contexts: [{name: x, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: "https://c", certificate-authority: ca.crt}}]`
	_, err := parse(t, text, "/nowhere/config").Config(t.Context(), nil)
	checkError(t, err, `/nowhere/config: cluster "c": certificate-authority: file /nowhere/ca.crt does not exist: `+
		"restore the file, or correct the path")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// TestUserWithoutANameIsUsedByAContextWithoutAUser checks that a user with an empty name is not ignored, and that a
// mistake in it is reported with its place.
func TestUserWithoutANameIsUsedByAContextWithoutAUser(t *testing.T) {
	resolve := func(user string) (*config.Config, error) {
		t.Helper()
		kc, err := config.Parse([]byte("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"+
			"clusters: [{name: k, cluster: {server: 'https://k'}}]\nusers: [{name: '', user: {"+user+"}}]\n"), "/k")
		if err != nil {
			t.Fatal(err)
		}
		return kc.Config(t.Context(), nil)
	}
	if cfg, err := resolve("token: abc"); err != nil || cfg.BearerToken != "abc" {
		t.Errorf("Config = %v, %v; want the token abc", cfg, err)
	}
	_, err := resolve("token: abc, username: ann")
	if want := `/k: user "": username: conflicts with a token: keep one of the two`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}
