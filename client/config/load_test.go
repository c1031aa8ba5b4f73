// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

// kubeconfigOf is a kubeconfig whose only context leads to a server of a name.
func kubeconfigOf(name string) string {
	return strings.ReplaceAll(`
current-context: NAME
clusters: [{name: NAME, cluster: {server: "https://NAME"}}]
contexts: [{name: NAME, context: {cluster: NAME}}]
`, "NAME", name)
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// inPod adds to an environment what every pod has.
func inPod(vars, files map[string]string) (podVars, podFiles map[string]string) {
	podVars = map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	podFiles = map[string]string{
		serviceAccount + "token":     "pod-token\n",
		serviceAccount + "ca.crt":    string(validPair().cert),
		serviceAccount + "namespace": "pod-namespace\n",
	}
	maps.Copy(podVars, vars)
	maps.Copy(podFiles, files)
	return podVars, podFiles
}

const outside = "not inside a cluster (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set)"

type vars = map[string]string

func TestLoadLooksInOrder(t *testing.T) {
	files := map[string]string{
		"/a": kubeconfigOf("a"), "/b": kubeconfigOf("b"), "/home/.kube/config": kubeconfigOf("home"),
		"/empty": "", "/none-current": "contexts: [{name: x}]\n", "/rest": "users: [{name: u, user: {token: t}}]\n",
	}
	for _, test := range []struct {
		name   string
		vars   vars
		pod    bool
		opts   config.Options
		server string // or the error
	}{
		{"the path before all others", vars{"KUBECONFIG": "/b", "HOME": "/home"}, true, config.Options{Path: "/a"}, "https://a"},
		{"KUBECONFIG before the home folder", vars{"KUBECONFIG": "/b", "HOME": "/home"}, true, config.Options{}, "https://b"},
		{"the first file of KUBECONFIG", vars{"KUBECONFIG": "/a:/b"}, false, config.Options{}, "https://a"},
		{"a context of the second file of KUBECONFIG", vars{"KUBECONFIG": "/a:/b"}, false, config.Options{Context: "b"}, "https://b"},
		{"a file of KUBECONFIG that is missing, which does no harm", vars{"KUBECONFIG": "/missing::/b:/b"}, false, config.Options{}, "https://b"},
		{"stanzas of several files", vars{"KUBECONFIG": "/rest:/b"}, false, config.Options{User: "u"}, "https://b"},
		{"the home folder", vars{"HOME": "/home"}, false, config.Options{}, "https://home"},
		{"the home folder before the pod", vars{"HOME": "/home"}, true, config.Options{}, "https://home"},
		{"the home folder if KUBECONFIG is set to nothing", vars{"KUBECONFIG": "", "HOME": "/home"}, false, config.Options{}, "https://home"},
		{"the pod", vars{"HOME": "/other"}, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, without a home", nil, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, as the kubeconfig is empty", vars{"KUBECONFIG": "/empty"}, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, as no context is current", vars{"KUBECONFIG": "/none-current"}, true, config.Options{}, "https://10.0.0.1:443"},
		{
			"an override, without any of them", nil, false,
			config.Options{Override: &config.Config{Server: "https://flag"}},
			"https://flag",
		},
		{
			"an override, which needs no pod", nil, true,
			config.Options{Override: &config.Config{Server: "https://flag"}},
			"https://flag",
		},

		{
			"nothing",
			vars{"HOME": "/other"},
			false,
			config.Options{},
			"no kubeconfig found: KUBECONFIG is not set; /other/.kube/config does not exist; " + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"nothing, without a home", nil, false,
			config.Options{},
			"no kubeconfig found: KUBECONFIG is not set; the home folder is not known; " + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"nothing in KUBECONFIG",
			vars{"KUBECONFIG": "/empty"},
			false,
			config.Options{},
			`no kubeconfig found: KUBECONFIG is "/empty", which is empty; ` + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"a KUBECONFIG without a file, never the pod's cluster instead",
			vars{"KUBECONFIG": "/x:/y", "HOME": "/home"},
			true,
			config.Options{},
			`no kubeconfig found: KUBECONFIG is "/x:/y", and no such file exists: set KUBECONFIG to a kubeconfig file, or name one`,
		},
		{
			"a path without a file, never another",
			vars{"KUBECONFIG": "/a", "HOME": "/home"},
			true,
			config.Options{Path: "/x"},
			"/x: does not exist: restore the file, or correct the path",
		},
		{
			"a path that would be the home folder's in a shell", nil, false,
			config.Options{Path: "/~/.kube/config"},
			"/~/.kube/config: does not exist: write the path out: ~ is not expanded here",
		},
		{
			"a path to nothing, never the pod's cluster instead", nil, true,
			config.Options{Path: "/empty"},
			"no kubeconfig found: /empty is empty: set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"a path without a current context", nil, true,
			config.Options{Path: "/none-current"},
			"/none-current: current-context: is missing: choose one with `kubectl config use-context`, or name one (contexts: \"x\")",
		},
		{
			"no current context, and no pod",
			vars{"KUBECONFIG": "/none-current"},
			false,
			config.Options{},
			"/none-current: current-context: is missing: choose one with `kubectl config use-context`, or name one (contexts: \"x\")",
		},
		{
			"a context without a kubeconfig, never the pod's cluster instead",
			vars{"HOME": "/other"},
			true,
			config.Options{Context: "a"},
			"no kubeconfig found: KUBECONFIG is not set; /other/.kube/config does not exist: " +
				"set KUBECONFIG to a kubeconfig file, or name one",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			vars, files := test.vars, files
			if test.pod {
				vars, files = inPod(vars, files)
			}
			cfg, err := config.LoadIn(vars, files, test.opts)
			got := ""
			if err != nil {
				got = err.Error()
				if (strings.HasPrefix(got, "no kubeconfig") || strings.Contains(got, "current-context: is missing")) != errors.Is(err, config.ErrNoConfig) {
					t.Errorf("errors.Is(%v, ErrNoConfig) = %v", err, errors.Is(err, config.ErrNoConfig))
				}
			} else {
				got = cfg.Server
			}
			if got != test.server {
				t.Errorf("Load() = %s\nwant     %s", got, test.server)
			}
		})
	}
}

func TestLoadReportsEveryFileThatCannotBeRead(t *testing.T) {
	files := map[string]string{
		"/a": kubeconfigOf("a"), "/secret": "forbidden", "/broken": "a: b: c", "/wrong": "Users: []\nusers: 1\n",
		"/spelling": "Current-Context: a\nCLUSTERS: []\n",
	}
	for _, test := range []struct{ list, want string }{
		{
			"/a:/secret:/broken:/wrong:/missing",
			"/secret: cannot be read: open /secret: permission denied: restore the file, or correct the path\n" +
				"/broken:1: mapping values are not allowed in this context\n" +
				"/wrong: users: want a list, got a number",
		},
		{"/spelling", "/spelling: CLUSTERS: is not a field: write \"clusters\"\n" +
			"/spelling: Current-Context: is not a field: write \"current-context\""},
	} {
		vars, files := inPod(vars{"KUBECONFIG": test.list}, files)
		_, err := config.LoadIn(vars, files, config.Options{})
		checkError(t, err, test.want)
	}
	_, err := config.LoadIn(vars{"HOME": "/h"}, map[string]string{"/h/.kube/config": "["}, config.Options{})
	checkError(t, err, "/h/.kube/config:1: did not find expected node content")
}

func TestReadWithoutFilesReadsWhatLoadWould(t *testing.T) {
	files := map[string]string{"/a": kubeconfigOf("a"), "/home/.kube/config": kubeconfigOf("home"), "/empty": ""}
	for _, test := range []struct {
		name string
		vars vars
		want string // the current context, or the error
	}{
		{"KUBECONFIG", vars{"KUBECONFIG": "/a", "HOME": "/home"}, "a"},
		{"the home folder", vars{"HOME": "/home"}, "home"},
		{"an empty file", vars{"KUBECONFIG": "/empty"}, ""},
		{"nothing", vars{"HOME": "/x"}, "no kubeconfig found: KUBECONFIG is not set; /x/.kube/config does not exist: " +
			"set KUBECONFIG to a kubeconfig file, or name one"},
		{
			"a KUBECONFIG without a file",
			vars{"KUBECONFIG": "/x"},
			`no kubeconfig found: KUBECONFIG is "/x", and no such file exists: set KUBECONFIG to a kubeconfig file, or name one`,
		},
	} {
		kc, err := config.ReadIn(test.vars, files)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = kc.CurrentContext
		}
		if got != test.want {
			t.Errorf("Read() with %s = %s, want %s", test.name, got, test.want)
		}
	}
}

func TestInCluster(t *testing.T) {
	standard := config.Config{
		Server: "https://10.0.0.1:443", Namespace: "pod-namespace", CAFile: serviceAccount + "ca.crt",
		BearerToken: "pod-token", BearerTokenFile: serviceAccount + "token", Source: "in-cluster",
	}
	for _, test := range []struct {
		name  string
		vars  vars
		files map[string]string
		opts  config.Options
		edit  func(*config.Config)
	}{
		{"what every pod has", nil, nil, config.Options{}, func(*config.Config) {}},
		{
			"a host in IPv6",
			vars{"KUBERNETES_SERVICE_HOST": "fd00::1"},
			nil,
			config.Options{},
			func(c *config.Config) { c.Server = "https://[fd00::1]:443" },
		},
		{
			"POD_NAMESPACE before the service account's",
			vars{"POD_NAMESPACE": "other"},
			nil,
			config.Options{},
			func(c *config.Config) { c.Namespace = "other" },
		},
		{"no file for the namespace", nil, nil, config.Options{}, func(c *config.Config) { c.Namespace = "default" }},
		{
			"no namespace", nil,
			map[string]string{serviceAccount + "namespace": "\n"},
			config.Options{},
			func(c *config.Config) { c.Namespace = "default" },
		},
		{
			"the namespace of the options before all",
			vars{"POD_NAMESPACE": "other"},
			nil,
			config.Options{Namespace: "mine"},
			func(c *config.Config) { c.Namespace = "mine" },
		},
		{
			"an override", nil, nil,
			config.Options{Override: &config.Config{Impersonate: config.Impersonation{User: "ann"}, ProxyURL: "http://proxy"}},
			func(c *config.Config) { c.Impersonate.User, c.ProxyURL = "ann", "http://proxy" },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			vars, files := inPod(test.vars, test.files)
			if test.name == "no file for the namespace" {
				delete(files, serviceAccount+"namespace")
			}
			got, err := config.InClusterIn(vars, files, test.opts)
			if err != nil {
				t.Fatal(err)
			}
			want := standard
			test.edit(&want)
			checkConfig(t, *got, want)
		})
	}
}

func TestInClusterSaysWhatIsMissing(t *testing.T) {
	const noFile = "open " + serviceAccount + "token: file does not exist"
	for _, test := range []struct {
		name   string
		vars   vars
		files  map[string]string
		remove string
		opts   config.Options
		want   string
	}{
		{"no host", vars{"KUBERNETES_SERVICE_HOST": ""}, nil, "", config.Options{}, outside},
		{"no port", vars{"KUBERNETES_SERVICE_PORT": ""}, nil, "", config.Options{}, outside},
		{
			"no token", nil, nil, "token",
			config.Options{},
			"not inside a cluster with a service account (" + noFile + "; is automountServiceAccountToken false?)",
		},
		{
			"an empty token", nil,
			map[string]string{serviceAccount + "token": " \n"},
			"",
			config.Options{},
			"in-cluster: BearerTokenFile: the file " + serviceAccount + "token is empty: write a token into it",
		},
		{
			"no certificate authority", nil, nil, "ca.crt",
			config.Options{},
			"in-cluster: CAFile: there is no file " + serviceAccount + "ca.crt: restore the file, or correct the path",
		},
		{
			"a broken certificate authority", nil,
			map[string]string{serviceAccount + "ca.crt": "x"},
			"",
			config.Options{},
			"in-cluster: CAFile: holds no certificate: give the certificate in PEM form (-----BEGIN CERTIFICATE-----)",
		},
		{
			"a namespace that is no name",
			vars{"POD_NAMESPACE": "a/b"},
			nil, "",
			config.Options{},
			`in-cluster: Namespace: "a/b" is not a name for a namespace: ` +
				"use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
		},
		{
			"options for a kubeconfig", nil, nil, "",
			config.Options{User: "ann"},
			"in-cluster: Path, Context, Cluster and User choose from a kubeconfig: leave them empty",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			vars, files := inPod(test.vars, test.files)
			if test.remove != "" {
				delete(files, serviceAccount+test.remove)
			}
			_, err := config.InClusterIn(vars, files, test.opts)
			checkError(t, err, test.want)
			if strings.HasPrefix(test.want, "not inside") != errors.Is(err, config.ErrNotInCluster) {
				t.Errorf("errors.Is(%v, ErrNotInCluster) = %v", err, errors.Is(err, config.ErrNotInCluster))
			}
		})
	}
}

func TestLoadUsesTheRealEnvironment(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		".kube/config": kubeconfigOf("home"), "one": kubeconfigOf("one"), "two": kubeconfigOf("two"),
	})
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, test := range []struct {
		list []string
		opts *config.Options
		want string
	}{
		{nil, nil, "https://home"},
		{[]string{"one", "two"}, nil, "https://one"},
		{[]string{"missing", "two"}, nil, "https://two"},
		{[]string{"one"}, &config.Options{Path: filepath.Join(dir, "two")}, "https://two"},
	} {
		for i, file := range test.list {
			test.list[i] = filepath.Join(dir, file)
		}
		t.Setenv("KUBECONFIG", strings.Join(test.list, string(os.PathListSeparator)))
		cfg, err := config.Load(t.Context(), test.opts)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Server != test.want {
			t.Errorf("Load(%v) with KUBECONFIG %q has server %q, want %q", test.opts, test.list, cfg.Server, test.want)
		}
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	if _, err := config.Load(t.Context(), nil); !errors.Is(err, config.ErrNoConfig) {
		t.Errorf("Load() with an empty KUBECONFIG = %v, want ErrNoConfig", err)
	}
	if _, err := config.InCluster(t.Context(), nil); !errors.Is(err, config.ErrNotInCluster) {
		t.Errorf("InCluster() = %v, want ErrNotInCluster", err)
	}
	t.Setenv("KUBECONFIG", "")
	if kc, err := config.Read(t.Context()); err != nil || kc.CurrentContext != "home" {
		t.Errorf("Read() = %v, %v", kc, err)
	}
}

func TestRelativePathsOfKubeconfigsAreMadeAbsolute(t *testing.T) {
	dir := writeFiles(t, map[string]string{"sub/config": "clusters: [{name: c, cluster: {certificate-authority: ca.crt}}]\n"})
	t.Chdir(dir)
	kc, err := config.Read(t.Context(), "sub/config")
	if err != nil {
		t.Fatal(err)
	}
	if got := kc.Clusters[0].Cluster.Origin; !filepath.IsAbs(got) {
		t.Errorf("the origin is %q", got)
	}
}

func TestReadNeedsTheFilesItIsGiven(t *testing.T) {
	_, err := config.Read(t.Context(), "/missing-1", "/missing-2")
	checkError(t, err, "/missing-1: does not exist: restore the file, or correct the path\n"+
		"/missing-2: does not exist: restore the file, or correct the path")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestEverythingThatReadsFilesHeedsTheContext(t *testing.T) {
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	kc := parse(t, kubeconfigOf("a"), "")
	_, loadErr := config.Load(ctx, nil)
	_, readErr := config.Read(ctx, "/missing")
	_, podErr := config.InCluster(ctx, nil)
	_, configErr := kc.Config(ctx, nil)
	for name, err := range map[string]error{
		"Load": loadErr, "Read": readErr, "InCluster": podErr, "Kubeconfig.Config": configErr,
		"Kubeconfig.Validate":           kc.Validate(ctx),
		"Config.Validate":               new(config.Config).Validate(ctx),
		"Config.CheckClientCertificate": new(config.Config).CheckClientCertificate(ctx),
	} {
		if !errors.Is(err, cause) {
			t.Errorf("%s() = %v, want the cause", name, err)
		}
	}
}

// TestFilesWithoutAnEnd promises that a name which is that of something huge, such as a device, ends in an error, and not
// in all of the memory.
func TestFilesWithoutAnEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(t.Context(), &config.Options{Path: file})
	checkError(t, err, file+": cannot be read: read "+file+": is larger than 67108864 bytes: restore the file, or correct the path")
}
