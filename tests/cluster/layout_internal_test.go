// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestDefaultCacheDirIsThatOfTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("cache")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECLUSTER_CACHE", "cache")
	if got, err := DefaultCacheDir(); err != nil || got != want {
		t.Errorf("DefaultCacheDir = %q, %v, want %q", got, err, want)
	}
}

func TestOnlyOneOfConcurrentStartsGetsADirectory(t *testing.T) {
	for range 50 {
		dir := filepath.Join(t.TempDir(), "cluster")
		var wait sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wait.Go(func() { errs[i] = (&layout{Dir: dir}).makeDir(false) })
		}
		wait.Wait()
		claims := 0
		for _, err := range errs {
			if err == nil {
				claims++
			} else if !strings.Contains(err.Error(), "is not empty") {
				t.Errorf("makeDir = %v", err)
			}
		}
		if claims != 1 {
			t.Fatalf("%d starts got the directory, want one", claims)
		}
	}
}

func TestAPIServerArgsReplaceTheFlagsOfThisPackage(t *testing.T) {
	for _, test := range []struct {
		name, flag string   // the flag of the API server
		args       []string // of the user
		want       []string // all arguments with the flag
	}{
		{name: "none", flag: "--authorization-mode", want: []string{"--authorization-mode=Node,RBAC"}},
		{
			name: "a list", flag: "--authorization-mode",
			args: []string{"--authorization-mode=RBAC"},
			want: []string{"--authorization-mode=RBAC"},
		},
		{
			name: "a value in the next argument", flag: "--enable-admission-plugins",
			args: []string{"--enable-admission-plugins", "AlwaysPullImages"},
			want: []string{"--enable-admission-plugins"},
		},
		{
			name: "underscores", flag: "--requestheader_allowed_names",
			args: []string{"--requestheader_allowed_names=proxy"},
			want: []string{"--requestheader_allowed_names=proxy"},
		},
		{name: "underscores replace dashes", flag: "--bind-address", args: []string{"--bind_address=::"}},
		{name: "a switch", flag: "--allow-privileged", args: []string{"--allow_privileged=false"}},
		{
			name: "a repeated flag", flag: "--service-account-issuer",
			args: []string{"--service-account-issuer=https://a", "--service-account-issuer=https://b"},
			want: []string{"--service-account-issuer=https://a", "--service-account-issuer=https://b"},
		},
		{name: "a flag that excludes another one", flag: "--authorization-mode", args: []string{"--authorization-config=f"}},
		{
			name: "feature gates", flag: "--feature-gates",
			args: []string{"--feature-gates=B=true"},
			want: []string{"--feature-gates=A=true", "--feature-gates=B=true"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := layout{APIServerArgs: test.args, FeatureGates: map[string]bool{"A": true}}
			var got []string
			for _, arg := range l.apiServerArgs() {
				if name, _, _ := strings.Cut(arg, "="); name == test.flag {
					got = append(got, arg)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("arguments = %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPIServerReachesWebhooksInPodsWithoutAProxy(t *testing.T) {
	for _, test := range []struct{ name, upper, lower, want string }{
		{name: "without exceptions", want: "NO_PROXY=.svc"},
		{name: "with exceptions", upper: "a,b", lower: "c", want: "NO_PROXY=a,b,.svc"},
		{name: "with exceptions in the lower-case variable", lower: "c", want: "NO_PROXY=c,.svc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("HTTPS_PROXY", "http://proxy.example")
			t.Setenv("NO_PROXY", test.upper)
			t.Setenv("no_proxy", test.lower)
			l := layout{Dir: "/cluster"}
			for _, spec := range l.specs(nil) {
				want := []string{l.mark()}
				if spec.Name == APIServer {
					want = []string{test.want, l.mark()}
				}
				if !slices.Equal(spec.Env, want) {
					t.Errorf("environment of %s = %q, want %q", spec.Name, spec.Env, want)
				}
			}
		})
	}
}
