// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
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

// builtin is the built-in cluster, or nil if KUBECONFIG names another one. TestMain sets it before any test runs.
var builtin *cluster.Cluster

// withNode returns the cluster with a node, which the tests share. The first call starts it.
var withNode = sync.OnceValues(func() (*cluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := startCluster(ctx, &cluster.Options{Node: true, Log: os.Stderr})
	started = c
	return c, err
})

// started is the cluster that withNode has started, or nil.
var started *cluster.Cluster

// startCluster starts a cluster of the Kubernetes version under test, and registers its secrets.
func startCluster(ctx context.Context, o *cluster.Options) (*cluster.Cluster, error) {
	o.KubernetesVersion = os.Getenv(versionEnv)
	o.ReadyTimeout = 4 * time.Minute // for a busy machine
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return c, addClusterSecrets(c)
}

// ownCluster starts a cluster for one test, and returns the administrator's configuration.
func ownCluster(t *testing.T, o *cluster.Options) *kube.Config {
	t.Helper()
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: ownKubeconfig(t, o)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// ownKubeconfig starts a cluster for one test, and returns the path of the administrator's kubeconfig.
func ownKubeconfig(t *testing.T, o *cluster.Options) string {
	t.Helper()
	if o.Log == nil {
		o.Log = t.Output()
	}
	c, err := startCluster(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c.Kubeconfig()
}

func TestMain(m *testing.M) {
	if addr := os.Getenv(webhookEnv); addr != "" {
		os.Exit(runWebhook(addr))
	}
	if ns := os.Getenv(replicaEnv); ns != "" {
		os.Exit(runReplica(ns))
	}
	if ns := os.Getenv(engagedEnv); ns != "" {
		os.Exit(runEngaged(ns))
	}
	if ns := os.Getenv(stuckEnv); ns != "" {
		os.Exit(runStuck(ns))
	}
	os.Exit(run(m))
}

// run runs the tests, and checks that none of their output contains a secret.
func run(m *testing.M) (code int) {
	var restores []func() error
	for source, file := range map[string]**os.File{"stdout": &os.Stdout, "stderr": &os.Stderr} {
		restore, err := recorder.Capture(file, source)
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e: record the output:", err)
			return 1
		}
		restores = append(restores, restore)
	}
	code = runTests(m)
	for _, restore := range restores {
		if err := restore(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: record the output:", err)
			code = 1
		}
	}
	if err := checkLeaks(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	return code
}

func runTests(m *testing.M) (code int) {
	failed := func(what string, err error) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "e2e: %s: %v\n", what, err)
			code = 1
		}
	}
	defer func() {
		failed("remove the programs", programs.remove())
		failed("remove the module cache", moduleCache.remove())
		failed("remove the compiled guests", compiledGuests.remove())
	}()
	if flag.Parse(); flag.Lookup("test.run").Value.String() == "" {
		// All tests run: build while the cluster starts and the first tests wait.
		var building sync.WaitGroup
		building.Go(func() { programs.once.Do(programs.build) }) // programPath reports the error
		defer building.Wait()
	}
	if os.Getenv("KUBECONFIG") == "" {
		c, err := startCluster(context.Background(), &cluster.Options{Log: os.Stderr})
		if err != nil {
			failed("start a cluster", err)
			return code
		}
		builtin = c
	}
	code = m.Run()
	for _, c := range []*cluster.Cluster{builtin, started} {
		if c != nil {
			failed("stop a cluster", c.Stop())
		}
	}
	return code
}

// builtinCluster returns the built-in cluster, whose components a test may break.
func builtinCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	if builtin == nil {
		t.Skip("needs the built-in cluster to break its components; unset KUBECONFIG to run this")
	}
	return builtin
}

// connect returns a client of the cluster under test with the given options, whose Config may be nil. The log of the
// client is recorded.
func connect(t *testing.T, o *kube.ClientOptions) *kube.Client {
	t.Helper()
	var options kube.ClientOptions
	if o != nil {
		options = *o
	}
	if options.Config == nil {
		options.Config = loadConfig(t, "")
	}
	addConfigSecrets(t, options.Config)
	log := debugLogger(t)
	if options.Logger != nil {
		log = slog.New(slog.NewMultiHandler(log.Handler(), options.Logger.Handler()))
	}
	options.Logger = log
	c, err := kube.NewClient(t.Context(), &options)
	if err != nil {
		t.Fatal(err)
	}
	printAll(c, options.Config)
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

// newNamespace creates a namespace, deletes it when the test ends, and returns its name.
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
	t.Cleanup(func() { deleteNow(t, namespaces, ns.Name) })
	return ns.Name
}

// eventually calls check until it returns nil. It fails the test after three minutes. Prefer a watch
// where the state can be watched.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	within(t, 3*time.Minute, what, check) // for a busy machine
}

// within is eventually with another limit. The pauses between the checks grow, since a check often lists objects.
func within(t *testing.T, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var last error // of the last check that was not cut off
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, last)
		case <-time.After(pause):
		}
	}
}
