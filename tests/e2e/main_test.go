// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// builtin is the built-in cluster, nil when KUBECONFIG names another. TestMain sets it before any test runs.
var builtin *cluster.Cluster

// withNode starts the cluster with a node that the tests which need one share, when the first of them asks for it.
var withNode = sync.OnceValues(func() (*cluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := cluster.Start(ctx, &cluster.Options{Node: true, Log: os.Stderr})
	started = c
	return c, err
})

// started is what withNode has started, nil for nothing.
var started *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	defer func() {
		if err := programs.remove(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: remove the programs:", err)
			code = 1
		}
	}()
	if os.Getenv("KUBECONFIG") != "" {
		return m.Run()
	}
	c, err := cluster.Start(context.Background(), &cluster.Options{Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	builtin = c
	code = m.Run()
	for _, c := range []*cluster.Cluster{c, started} {
		if c == nil {
			continue
		}
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: stop a cluster:", err)
			code = 1
		}
	}
	return code
}

// builtinCluster returns the cluster whose components a test may break.
func builtinCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	if builtin == nil {
		t.Skip("needs the built-in cluster, to break its components; unset KUBECONFIG to run this")
	}
	return builtin
}

// connect returns a client of the cluster under test with the given options, whose Config may be nil.
func connect(t *testing.T, o *kube.ClientOptions) *kube.Client {
	t.Helper()
	if o == nil {
		o = &kube.ClientOptions{}
	}
	if o.Config == nil {
		o.Config = loadConfig(t, "")
	}
	c, err := kube.NewClient(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// loadConfig returns the configuration of one context of the cluster under test; empty means the current one.
func loadConfig(t *testing.T, kubeContext string) *kube.Config {
	t.Helper()
	o := &kube.ConfigOptions{Context: kubeContext}
	if builtin != nil {
		o.Path = builtin.Kubeconfig()
	}
	cfg, err := kube.LoadConfig(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// newNamespace makes a namespace that goes when the test ends.
func newNamespace(t *testing.T, c *kube.Client) string {
	t.Helper()
	namespaces := kube.ClusterWide[corev1.Namespace](c)
	name := regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(t.Name()), "-")
	name = strings.TrimLeft(name[max(0, len(name)-40):], "-")
	ns, err := namespaces.Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := namespaces.Delete(ctx, ns.Name, nil); err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}

// eventually fails the test unless check returns nil before long. It is for what the server does in its own time; what
// can be watched is watched.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}
