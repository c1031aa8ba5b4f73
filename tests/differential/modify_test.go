// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-go/sdk/client/config"
)

// TestModifiedFilesEqualThoseOfClientGo checks that a change of kubeconfig files has the same result as with client-go,
// when client-go reads them.
func TestModifiedFilesEqualThoseOfClientGo(t *testing.T) {
	files := map[string]string{
		"a": "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {" + server + ", certificate-authority: ca.crt}}]\n",
		"b": "users: [{name: u, user: {token: abc, extensions: [{name: x, extension: {a: 1}}]}}, {name: v, user: {tokenFile: ../t}}]\npreferences: {colors: true}\n",
	}
	for _, tc := range []struct {
		name   string
		ours   func(*config.Kubeconfig)
		theirs func(*clientcmdapi.Config)
	}{
		{
			"the current context", func(k *config.Kubeconfig) { k.CurrentContext = "d" },
			func(c *clientcmdapi.Config) { c.CurrentContext = "d" },
		},
		{
			"no current context", func(k *config.Kubeconfig) { k.CurrentContext = "" },
			func(c *clientcmdapi.Config) { c.CurrentContext = "" },
		},
		{
			"a namespace", func(k *config.Kubeconfig) { k.Context("c").Namespace = "shop" },
			func(c *clientcmdapi.Config) { c.Contexts["c"].Namespace = "shop" },
		},
		{
			"a token in the second file", func(k *config.Kubeconfig) { k.User("u").Token = "xyz" },
			func(c *clientcmdapi.Config) { c.AuthInfos["u"].Token = "xyz" },
		},
		{
			"a new cluster", func(k *config.Kubeconfig) {
				k.SetCluster("l", config.Cluster{Server: "https://l", CertificateAuthorityData: validPair().cert})
			},
			func(c *clientcmdapi.Config) {
				c.Clusters["l"] = clientcmdapi.NewCluster()
				c.Clusters["l"].Server, c.Clusters["l"].CertificateAuthorityData = "https://l", validPair().cert
			},
		},
		{
			"a user with a plugin", func(k *config.Kubeconfig) {
				k.SetUser("u", config.User{Exec: &config.ExecConfig{
					Command: "login", Args: []string{"a"}, APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever,
					Env: []config.EnvVar{{Name: "A", Value: "b"}},
				}})
			},
			func(c *clientcmdapi.Config) {
				c.AuthInfos["u"].Token, c.AuthInfos["u"].Extensions = "", nil
				c.AuthInfos["u"].Exec = &clientcmdapi.ExecConfig{
					Command: "login", Args: []string{"a"}, APIVersion: config.ExecV1, InteractiveMode: "Never",
					Env: []clientcmdapi.ExecEnvVar{{Name: "A", Value: "b"}},
				}
			},
		},
		{
			"one of each is deleted", func(k *config.Kubeconfig) { k.DeleteUser("v"); k.DeleteCluster("k"); k.DeleteContext("c") },
			func(c *clientcmdapi.Config) {
				delete(c.AuthInfos, "v")
				delete(c.Clusters, "k")
				delete(c.Contexts, "c")
				c.CurrentContext = ""
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			read := func(list string) *clientcmdapi.Config {
				t.Helper()
				rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list), DoNotResolvePaths: true}
				return must(rules.Load())
			}
			list := func() string {
				dir := t.TempDir()
				for name, text := range files {
					writeFile(t, filepath.Join(dir, name), text)
				}
				return filepath.Join(dir, "a") + string(filepath.ListSeparator) + filepath.Join(dir, "b")
			}
			mine, its := list(), list()
			t.Setenv("KUBECONFIG", mine)
			if err := config.Modify(t.Context(), func(k *config.Kubeconfig) error { tc.ours(k); return nil }, nil); err != nil {
				t.Fatal(err)
			}
			t.Setenv("KUBECONFIG", its)
			changed := read(its)
			tc.theirs(changed)
			if err := clientcmd.ModifyConfig(clientcmd.NewDefaultPathOptions(), *changed, false); err != nil {
				t.Fatal(err)
			}
			ignore := cmp.Options{
				cmpopts.IgnoreFields(clientcmdapi.Cluster{}, "LocationOfOrigin"), cmpopts.IgnoreFields(clientcmdapi.Context{}, "LocationOfOrigin"),
				cmpopts.IgnoreFields(clientcmdapi.AuthInfo{}, "LocationOfOrigin"), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(clientcmdapi.ExecConfig{}),
			}
			for i, file := range filepath.SplitList(mine) {
				if diff := cmp.Diff(read(filepath.SplitList(its)[i]), read(file), ignore); diff != "" {
					t.Errorf("%s (-theirs +ours):\n%s", filepath.Base(file), diff)
				}
			}
		})
	}
}

// TestModifyUsesTheLockOfKubectl checks that ours and kubectl exclude each other.
func TestModifyUsesTheLockOfKubectl(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	writeFile(t, file, simple(server, "token: abc"))
	t.Setenv("KUBECONFIG", file)
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		changed := must(clientcmd.LoadFromFile(file))
		changed.CurrentContext = "d"
		if err := clientcmd.ModifyConfig(clientcmd.NewDefaultPathOptions(), *changed, false); !os.IsExist(err) {
			t.Errorf("client-go writes at the same time as ours: %v", err)
		}
		k.CurrentContext = "e"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := must(clientcmd.LoadFromFile(file)).CurrentContext; got != "e" {
		t.Errorf("current-context = %q, want e", got)
	}
}
