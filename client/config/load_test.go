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

// kubeconfigOf returns a kubeconfig whose only context leads to the server with the name.
func kubeconfigOf(name string) string {
	return strings.ReplaceAll(`
current-context: NAME
clusters: [{name: NAME, cluster: {server: "https://NAME"}}]
contexts: [{name: NAME, context: {cluster: NAME}}]
`, "NAME", name)
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// inPod adds the variables and files that every pod has to an environment.
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

func TestLoadSearchesInOrder(t *testing.T) {
	files := map[string]string{
		"/a": kubeconfigOf("a"), "/b": kubeconfigOf("b"), "/home/.kube/config": kubeconfigOf("home"),
		"/root/.kube/config": "forbidden", "/dev/null/.kube/config": "below a file",
		"/empty": "", "/none-current": "contexts: [{name: x}]\n", "/rest": "users: [{name: u, user: {token: t}}]\n",
	}
	for _, test := range []struct {
		name   string
		vars   vars
		pod    bool
		opts   config.Options
		server string // or the error
	}{
		{
			"the path takes precedence",
			vars{"KUBECONFIG": "/b", "HOME": "/home"},
			true,
			config.Options{Path: "/a"},
			"https://a",
		},
		{
			"KUBECONFIG takes precedence over the home directory",
			vars{"KUBECONFIG": "/b", "HOME": "/home"},
			true,
			config.Options{},
			"https://b",
		},
		{"the first file of KUBECONFIG takes precedence", vars{"KUBECONFIG": "/a:/b"}, false, config.Options{}, "https://a"},
		{
			"a context in the second file of KUBECONFIG",
			vars{"KUBECONFIG": "/a:/b"},
			false,
			config.Options{Context: "b"},
			"https://b",
		},
		{
			"a missing file of KUBECONFIG is skipped",
			vars{"KUBECONFIG": "/missing::/b:/b"},
			false,
			config.Options{},
			"https://b",
		},
		{"stanzas of several files", vars{"KUBECONFIG": "/rest:/b"}, false, config.Options{User: "u"}, "https://b"},
		{"the home directory", vars{"HOME": "/home"}, false, config.Options{}, "https://home"},
		{"the home directory takes precedence over the pod", vars{"HOME": "/home"}, true, config.Options{}, "https://home"},
		{
			"an empty KUBECONFIG selects the home directory",
			vars{"KUBECONFIG": "", "HOME": "/home"},
			false,
			config.Options{},
			"https://home",
		},
		{"the pod", vars{"HOME": "/other"}, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, without a home directory", nil, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, if the home directory is closed", vars{"HOME": "/root"}, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, if the home directory is a file", vars{"HOME": "/dev/null"}, true, config.Options{}, "https://10.0.0.1:443"},
		{"the pod, if the kubeconfig is empty", vars{"KUBECONFIG": "/empty"}, true, config.Options{}, "https://10.0.0.1:443"},
		{
			"the pod, if there is no current context",
			vars{"KUBECONFIG": "/none-current"},
			true,
			config.Options{},
			"https://10.0.0.1:443",
		},
		{
			"an override without a kubeconfig or a pod", nil, false,
			config.Options{Override: &config.Config{Server: "https://flag"}},
			"https://flag",
		},
		{
			"an override takes precedence over the pod", nil, true,
			config.Options{Override: &config.Config{Server: "https://flag"}},
			"https://flag",
		},

		{
			"no configuration",
			vars{"HOME": "/other"},
			false,
			config.Options{},
			"no kubeconfig found: KUBECONFIG is not set; /other/.kube/config does not exist; " + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"no configuration and no home directory", nil, false,
			config.Options{},
			"no kubeconfig found: KUBECONFIG is not set; the home directory is unknown; " + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"no configuration and a closed home directory",
			vars{"HOME": "/root"},
			false,
			config.Options{},
			"no kubeconfig found: KUBECONFIG is not set; /root/.kube/config can't be read: permission denied; " + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"a closed file in KUBECONFIG does not select the pod",
			vars{"KUBECONFIG": "/root/.kube/config"},
			true,
			config.Options{},
			"/root/.kube/config: cannot be read: open /root/.kube/config: permission denied: restore the file, or correct the path",
		},
		{
			"an empty file in KUBECONFIG",
			vars{"KUBECONFIG": "/empty"},
			false,
			config.Options{},
			`no kubeconfig found: KUBECONFIG is "/empty", which is empty; ` + outside +
				": set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"KUBECONFIG with only missing files does not select the pod",
			vars{"KUBECONFIG": "/x:/y", "HOME": "/home"},
			true,
			config.Options{},
			`no kubeconfig found: KUBECONFIG is "/x:/y", but no such file exists: set KUBECONFIG to a kubeconfig file, or ` +
				`name one`,
		},
		{
			"a path to a missing file does not select another file",
			vars{"KUBECONFIG": "/a", "HOME": "/home"},
			true,
			config.Options{Path: "/x"},
			"/x: does not exist: restore the file, or correct the path",
		},
		{
			"a path with a tilde", nil, false,
			config.Options{Path: "/~/.kube/config"},
			"/~/.kube/config: does not exist: write the full path: ~ is not expanded here",
		},
		{
			"a path to an empty file does not select the pod", nil, true,
			config.Options{Path: "/empty"},
			"no kubeconfig found: /empty is empty: set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			"a path without a current context", nil, true,
			config.Options{Path: "/none-current"},
			"/none-current: current-context: is missing: choose one with `kubectl config use-context`, or name one " +
				"(contexts: \"x\")",
		},
		{
			"no current context and no pod",
			vars{"KUBECONFIG": "/none-current"},
			false,
			config.Options{},
			"/none-current: current-context: is missing: choose one with `kubectl config use-context`, or name one " +
				"(contexts: \"x\")",
		},
		{
			"a context without a kubeconfig does not select the pod",
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
				want := strings.HasPrefix(got, "no kubeconfig") || strings.Contains(got, "current-context: is missing")
				if want != errors.Is(err, config.ErrNoConfig) {
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
		{"/spelling", "/spelling: CLUSTERS: is not a known field: write \"clusters\"\n" +
			"/spelling: Current-Context: is not a known field: write \"current-context\""},
	} {
		vars, files := inPod(vars{"KUBECONFIG": test.list}, files)
		_, err := config.LoadIn(vars, files, config.Options{})
		checkError(t, err, test.want)
	}
	_, err := config.LoadIn(vars{"HOME": "/h"}, map[string]string{"/h/.kube/config": "["}, config.Options{})
	checkError(t, err, "/h/.kube/config:1: did not find expected node content")
}

func TestReadWithoutFilesReadsTheSameFilesAsLoad(t *testing.T) {
	files := map[string]string{"/a": kubeconfigOf("a"), "/home/.kube/config": kubeconfigOf("home"), "/empty": ""}
	for _, test := range []struct {
		name string
		vars vars
		want string // the current context, or the error
	}{
		{"KUBECONFIG", vars{"KUBECONFIG": "/a", "HOME": "/home"}, "a"},
		{"the home directory", vars{"HOME": "/home"}, "home"},
		{"an empty file", vars{"KUBECONFIG": "/empty"}, ""},
		{"no kubeconfig", vars{"HOME": "/x"}, "no kubeconfig found: KUBECONFIG is not set; /x/.kube/config does not exist: " +
			"set KUBECONFIG to a kubeconfig file, or name one"},
		{
			"KUBECONFIG with only a missing file",
			vars{"KUBECONFIG": "/x"},
			`no kubeconfig found: KUBECONFIG is "/x", but no such file exists: set KUBECONFIG to a kubeconfig file, or name one`,
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
		{"the variables and files of every pod", nil, nil, config.Options{}, func(*config.Config) {}},
		{
			"an IPv6 host",
			vars{"KUBERNETES_SERVICE_HOST": "fd00::1"},
			nil,
			config.Options{},
			func(c *config.Config) { c.Server = "https://[fd00::1]:443" },
		},
		{
			"POD_NAMESPACE takes precedence over the service account",
			vars{"POD_NAMESPACE": "other"},
			nil,
			config.Options{},
			func(c *config.Config) { c.Namespace = "other" },
		},
		{"no namespace file", nil, nil, config.Options{}, func(c *config.Config) { c.Namespace = "default" }},
		{
			"an empty namespace file", nil,
			map[string]string{serviceAccount + "namespace": "\n"},
			config.Options{},
			func(c *config.Config) { c.Namespace = "default" },
		},
		{
			"the namespace of the options takes precedence",
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
			if test.name == "no namespace file" {
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

func TestInClusterNamesWhatIsMissing(t *testing.T) {
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
			"in-cluster: CAFile: file " + serviceAccount + "ca.crt does not exist: restore the file, or correct the path",
		},
		{
			"a broken certificate authority", nil,
			map[string]string{serviceAccount + "ca.crt": "x"},
			"",
			config.Options{},
			"in-cluster: CAFile: contains no certificate: provide the certificate in PEM format (-----BEGIN CERTIFICATE-----)",
		},
		{
			"an invalid namespace",
			vars{"POD_NAMESPACE": "a/b"},
			nil, "",
			config.Options{},
			`in-cluster: Namespace: "a/b" is not a valid namespace name: ` +
				"use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
		},
		{
			"options for a kubeconfig", nil, nil, "",
			config.Options{User: "ann"},
			"in-cluster: Path, Context, Cluster and User apply only to a kubeconfig: leave them empty",
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
	dir := writeFiles(t,
		map[string]string{"sub/config": "clusters: [{name: c, cluster: {certificate-authority: ca.crt}}]\n"})
	t.Chdir(dir)
	kc, err := config.Read(t.Context(), "sub/config")
	if err != nil {
		t.Fatal(err)
	}
	if got := kc.Clusters[0].Cluster.Origin; !filepath.IsAbs(got) {
		t.Errorf("the origin is %q, want an absolute path", got)
	}
}

func TestReadFailsForMissingFiles(t *testing.T) {
	_, err := config.Read(t.Context(), "/missing-1", "/missing-2")
	checkError(t, err, "/missing-1: does not exist: restore the file, or correct the path\n"+
		"/missing-2: does not exist: restore the file, or correct the path")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestFunctionsThatReadFilesCheckTheContext(t *testing.T) {
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

// TestHugeFilesAreRejected checks that a path to a huge file, such as a device, is an error, and does not use up the
// memory.
func TestHugeFilesAreRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(t.Context(), &config.Options{Path: file})
	checkError(t, err,
		file+": cannot be read: read "+file+": is larger than 67108864 bytes: restore the file, or correct the path")
}
