// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-go/sdk/client/config"
)

// outcome is the result of loading a kubeconfig, as far as both implementations report it.
type outcome struct {
	Host, Namespace, TLSServerName, Proxy string
	Insecure, DisableCompression          bool
	CAFile, CA                            string
	CertFile, Cert, KeyFile, Key          string
	Token, TokenFile, Username, Password  string
	User, UID                             string
	Groups                                []string
	Extra                                 map[string][]string
	Exec                                  *execOutcome
	Provider                              string
	Settings                              map[string]string
}

type execOutcome struct {
	Command, APIVersion, Mode, Hint, Config string
	Args, Env                               []string
	ClusterInfo                             bool
}

// nilIfEmpty makes empty and nil lists equal.
func nilIfEmpty[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}

// compact returns JSON without spaces.
func compact(t testing.TB, raw []byte) string {
	t.Helper()
	if len(raw) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// outcomeOf returns the outcome of our configuration.
func outcomeOf(t testing.TB, c *config.Config) outcome {
	t.Helper()
	o := outcome{
		Host: strings.TrimRight(c.Server, "/"), Namespace: c.Namespace, TLSServerName: c.TLSServerName, Proxy: c.ProxyURL,
		Insecure: c.InsecureSkipTLSVerify, DisableCompression: c.DisableCompression,
		CAFile: c.CAFile, CA: string(c.CAData),
		CertFile: c.ClientCertFile, Cert: string(c.ClientCertData), KeyFile: c.ClientKeyFile, Key: string(c.ClientKeyData),
		Token: string(c.BearerToken), TokenFile: c.BearerTokenFile, Username: c.Username, Password: string(c.Password),
		User: c.Impersonate.User, UID: c.Impersonate.UID, Groups: nilIfEmpty(c.Impersonate.Groups), Extra: c.Impersonate.Extra,
	}
	if e := c.Exec; e != nil {
		o.Exec = &execOutcome{
			Command: e.Command, APIVersion: e.APIVersion, Mode: string(e.InteractiveMode), Hint: e.InstallHint,
			Config: compact(t, e.ClusterConfig), Args: nilIfEmpty(e.Args), ClusterInfo: e.ProvideClusterInfo,
		}
		for _, v := range e.Env {
			o.Exec.Env = append(o.Exec.Env, v.Name+"="+string(v.Value))
		}
	}
	if p := c.AuthProvider; p != nil {
		o.Provider, o.Settings = p.Name, map[string]string{}
		for name, value := range p.Config {
			o.Settings[name] = string(value)
		}
	}
	return o
}

// theirOutcomeOf returns the outcome of client-go's configuration.
func theirOutcomeOf(t testing.TB, c *rest.Config, namespace string) outcome {
	t.Helper()
	server, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{
		Host: strings.TrimRight(server.String(), "/"), Namespace: namespace, TLSServerName: c.ServerName,
		Insecure: c.Insecure, DisableCompression: c.DisableCompression,
		CAFile: c.CAFile, CA: string(c.CAData),
		CertFile: c.CertFile, Cert: string(c.CertData), KeyFile: c.KeyFile, Key: string(c.KeyData),
		Token: strings.TrimSpace(c.BearerToken), TokenFile: c.BearerTokenFile, Username: c.Username, Password: c.Password,
		User: c.Impersonate.UserName, UID: c.Impersonate.UID, Groups: nilIfEmpty(c.Impersonate.Groups), Extra: c.Impersonate.Extra,
	}
	if len(o.Extra) == 0 {
		o.Extra = nil
	}
	if c.Proxy != nil {
		proxy, err := c.Proxy(&http.Request{URL: server})
		if err != nil {
			t.Fatal(err)
		}
		o.Proxy = proxy.String()
	}
	if e := c.ExecProvider; e != nil {
		o.Exec = &execOutcome{
			Command: e.Command, APIVersion: e.APIVersion, Mode: string(e.InteractiveMode), Hint: e.InstallHint,
			Args: nilIfEmpty(e.Args), ClusterInfo: e.ProvideClusterInfo,
		}
		if extension, ok := e.Config.(*runtime.Unknown); ok {
			o.Exec.Config = compact(t, extension.Raw)
		}
		for _, v := range e.Env {
			o.Exec.Env = append(o.Exec.Env, v.Name+"="+v.Value)
		}
	}
	if p := c.AuthProvider; p != nil {
		o.Provider, o.Settings = p.Name, map[string]string{}
		maps.Copy(o.Settings, p.Config)
	}
	return o
}

// theirs loads a configuration with client-go.
func theirs(t testing.TB, tc *kubeconfigCase, dir string) (outcome, error) {
	t.Helper()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.MigrationRules = nil
	rules.WarnIfAllMissing = false
	if tc.env == "" {
		rules.Precedence = []string{filepath.Join(dir, "home/.kube/config")}
	}
	if tc.path != "" {
		rules.ExplicitPath = filepath.Join(dir, tc.path)
	}
	overrides := &clientcmd.ConfigOverrides{}
	if tc.theirOptions != nil {
		tc.theirOptions(overrides)
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	cfg, err := loader.ClientConfig()
	if err != nil {
		return outcome{}, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return outcome{}, err
	}
	return theirOutcomeOf(t, cfg, namespace), nil
}

// ours loads a configuration.
func ours(t testing.TB, tc *kubeconfigCase, dir string) (outcome, error) {
	t.Helper()
	var o config.Options
	if tc.path != "" {
		o.Path = filepath.Join(dir, tc.path)
	}
	if tc.options != nil {
		tc.options(&o)
	}
	cfg, err := config.Load(t.Context(), &o)
	if err != nil {
		return outcome{}, err
	}
	return outcomeOf(t, cfg), nil
}

// TestKubeconfigsMeanTheSameAsForClientGo checks that both implementations load the same configuration or both return
// an error. If the two differ on purpose, it checks both.
func TestKubeconfigsMeanTheSameAsForClientGo(t *testing.T) {
	cases := slices.Concat(loadingCases(), mergingCases(), userCases(), clusterCases(), overrideCases(), mistakeCases())
	const least = 60
	if len(cases) < least {
		t.Errorf("%d cases, want at least %d", len(cases), least)
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			fill := filler(dir)
			for name, text := range tc.files {
				writeFile(t, filepath.Join(dir, name), fill(text))
			}
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Setenv("KUBECONFIG", "")
			if tc.env != "" {
				var list []string
				for name := range strings.SplitSeq(tc.env, ":") {
					if name != "" && !filepath.IsAbs(name) {
						name = filepath.Join(dir, name)
					}
					list = append(list, name)
				}
				t.Setenv("KUBECONFIG", strings.Join(list, string(filepath.ListSeparator)))
			}
			got, ourErr := ours(t, &tc, dir)
			want, theirErr := theirs(t, &tc, dir)
			tc.compare(t, got, want, ourErr, theirErr)
		})
	}
}

// compare compares the results with each other and with the case.
func (tc *kubeconfigCase) compare(t *testing.T, got, want outcome, ourErr, theirErr error) {
	t.Helper()
	switch {
	case tc.because == "" && tc.fails == "":
		if ourErr != nil || theirErr != nil {
			t.Fatalf("ours: %v\ntheirs: %v\nwant no error", ourErr, theirErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-theirs +ours):\n%s", diff)
		}
		if got.Host == "" {
			t.Error("the host is missing")
		}
	case tc.because == "":
		if theirErr == nil {
			t.Errorf("theirs: no error; want one instead of %+v", want)
		}
		checkFails(t, ourErr, tc.fails)
	default:
		switch {
		case tc.theyFail && theirErr == nil, !tc.theyFail && theirErr != nil:
			t.Errorf("theirs: %v; the case is outdated", theirErr)
		case tc.fails != "":
			checkFails(t, ourErr, tc.fails)
		case ourErr != nil:
			t.Errorf("ours: %v", ourErr)
		case theirErr == nil && cmp.Equal(want, got):
			t.Errorf("no difference, although the case says: %s", tc.because)
		case tc.adjust != nil:
			tc.adjust(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after adjusting for the difference (-theirs +ours):\n%s", diff)
			}
		}
	}
}

func checkFails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ours: error = %v, want %q in it", err, want)
	}
	if _, ok := errors.AsType[*config.FieldError](err); !ok && !errors.Is(err, config.ErrNoConfig) && !strings.HasPrefix(want, "options:") {
		t.Errorf("ours: error = %v, want a FieldError or ErrNoConfig", err)
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
