// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/tests/cluster/internal/build"
	"github.com/kube-go/sdk/tests/cluster/internal/kubeconfig"
)

func (c *command) up(ctx context.Context) error {
	if err := c.checkKubeconfig(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.clear(ctx); err != nil {
		return err
	}
	c.options.CacheDir, c.options.Dir, c.options.Log, c.options.Detach = c.cache, c.dir(), c.stderr, true
	started, err := cluster.Start(ctx, &c.options)
	if err != nil {
		return err
	}
	file := started.Kubeconfig()
	if c.kubeconfig != "" {
		file = c.kubeconfig
		if err := c.writeKubeconfig(started.Kubeconfig()); err != nil {
			return errors.Join(err, c.remove(started))
		}
	}
	fmt.Fprintf(c.stdout, `The cluster %q is up: Kubernetes %s at %s.

  export KUBECONFIG=%s

Its contexts: "admin" has all permissions, "token" may only read.
Stop it with: %s
`, c.name, started.KubernetesVersion(), started.URL(), file, c.line("down"))
	if c.options.Node {
		fmt.Fprintf(c.stdout, `
Its node has the image %s, and can't pull others. Pods need imagePullPolicy: IfNotPresent.
The image has no shell; its arguments are one of: pause, sleep 1h, echo TEXT, serve PORT, get URL, ...
Load images with: %s
`, cluster.TestImage, c.line("load -")+" < FILE")
	}
	return nil
}

// lock prevents two concurrent commands for one cluster. The file is removed with the cluster.
func (c *command) lock(ctx context.Context) (unlock func(), err error) {
	if err := build.MakeCache(c.cache); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(c.dir()), 0o700); err != nil {
		return nil, err
	}
	file, err := build.Lock(ctx, c.dir()+".lock", func() {
		fmt.Fprintf(c.stderr, "waiting for another kubecluster command for %q\n", c.name)
	})
	if err != nil {
		return nil, err
	}
	return func() {
		if _, err := os.Stat(c.dir()); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(file.Name()) // a remaining file is harmless
		}
		_ = file.Close() // the lock is released in any case
	}, nil
}

// clear removes the files of a cluster that has died, and returns an error for one that has not.
func (c *command) clear(ctx context.Context) error {
	old, err := cluster.Open(c.dir())
	if errors.Is(err, os.ErrNotExist) {
		return c.removeRest(ctx)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(old.Components(), (*cluster.Component).Running) {
		return fmt.Errorf("the cluster %q is up already (`%s`); stop it with `%s`, or choose another --name",
			c.name, c.line("status"), c.line("down"))
	}
	return c.remove(old)
}

// removeRest ends the processes of a cluster some of whose files were deleted, and removes the others.
func (c *command) removeRest(ctx context.Context) error {
	if err := cluster.Clean(ctx, &cluster.Options{CacheDir: c.cache, Dir: c.dir()}); err != nil {
		return err
	}
	return os.RemoveAll(c.dir())
}

// remove stops the cluster and removes its files. After an error, the files remain, so that it can be called again.
func (c *command) remove(old *cluster.Cluster) error {
	if err := old.Stop(); err != nil {
		return fmt.Errorf("%w\nits files are in %s", err, c.dir())
	}
	return os.RemoveAll(c.dir())
}

// checkKubeconfig checks before any work that no other program's file would be overwritten.
func (c *command) checkKubeconfig() error {
	if c.kubeconfig == "" {
		return nil
	}
	absolute, err := filepath.Abs(c.kubeconfig)
	if err != nil {
		return err
	}
	c.kubeconfig = absolute
	info, err := os.Stat(c.kubeconfig)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // writeKubeconfig changes the permissions
		return fmt.Errorf("%s is not a regular file: choose another --kubeconfig", c.kubeconfig)
	}
	content, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		return err
	}
	names := kubeconfig.Clusters(content)
	if len(content) > 0 && !slices.Equal(names, []string{kubeconfig.ClusterName}) {
		return fmt.Errorf("%s exists and was not written by kubecluster, or also has other clusters: "+
			"choose another --kubeconfig", c.kubeconfig)
	}
	return nil
}

// writeKubeconfig copies the kubeconfig. Only the owner can read the file, even if it existed. It is written in place,
// since it may be a link or a mount.
func (c *command) writeKubeconfig(source string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.kubeconfig), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(c.kubeconfig, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(file.Chmod(0o600), file.Truncate(0))
	if err == nil {
		_, err = file.Write(content)
	}
	return errors.Join(err, file.Close())
}

func (c *command) down(ctx context.Context) error {
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	opened, err := cluster.Open(c.dir())
	if errors.Is(err, os.ErrNotExist) {
		if err := c.removeRest(ctx); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "The cluster %q is not up, and nothing of it remains.\n", c.name)
		return nil
	}
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.remove(opened); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "The cluster %q is down (%v).\n", c.name, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// list prints the clusters in the cache.
func (c *command) list(context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(filepath.Dir(c.dir()), "*", "cluster.json"))
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKUBERNETES\tCOMPONENTS\tURL")
	for _, file := range dirs {
		dir := filepath.Dir(file)
		opened, err := cluster.Open(dir)
		if err != nil {
			fmt.Fprintf(table, "%s\t\t%v\t\n", filepath.Base(dir), err)
			continue
		}
		running := 0
		for _, component := range opened.Components() {
			if component.Running() {
				running++
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%d of %d running\t%s\n",
			filepath.Base(dir), opened.KubernetesVersion(), running, len(opened.Components()), opened.URL())
	}
	return table.Flush()
}

// statusTimeout is the timeout of a component's health check.
const statusTimeout = 3 * time.Second

func (c *command) status(ctx context.Context) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "cluster %q, Kubernetes %s, %s\n", c.name, opened.KubernetesVersion(), opened.URL())
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tSTATE")
	bad := 0
	for _, component := range opened.Components() {
		state := "ready"
		if !component.Running() {
			state = "ended; see " + c.line("logs "+component.Name())
		} else if err := health(ctx, component); err != nil {
			state, _, _ = strings.Cut(err.Error(), "\n")
		}
		if state != "ready" {
			bad++
		}
		fmt.Fprintf(table, "%s\t%d\t%s\n", component.Name(), component.PID(), state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !opened.Started() {
		return fmt.Errorf("the start of the cluster %q is not complete: `%s` has not ended yet, or has failed",
			c.name, c.line("up"))
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d components are not ready", bad, len(opened.Components()))
	}
	fmt.Fprintf(c.stdout, "\n  export KUBECONFIG=%s\n", opened.Kubeconfig())
	return nil
}

// health checks a component. One that does not respond must not use up the time of the others.
func health(ctx context.Context, component *cluster.Component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, fmt.Errorf("not healthy within %v", statusTimeout))
	defer cancel()
	return component.Ready(ctx)
}

// load loads the images of an archive, or of the standard input if its name is "-".
func (c *command) load(ctx context.Context) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	archive := os.Stdin
	if name := c.arguments[0]; name != "-" {
		if archive, err = os.Open(name); err != nil {
			return err
		}
		defer archive.Close()
	}
	return opened.LoadImages(ctx, archive)
}

// followInterval is the interval at which a followed log is read.
const followInterval = 200 * time.Millisecond

func (c *command) logs(ctx context.Context) error {
	wanted := c.arguments[0]
	opened, err := c.open()
	if err != nil {
		return err
	}
	var names []string
	for _, component := range opened.Components() {
		names = append(names, component.Name())
	}
	if !slices.Contains(names, wanted) {
		return fmt.Errorf("no component %q in the cluster %q: want one of %s", wanted, c.name, strings.Join(names, ", "))
	}
	component := opened.Component(wanted)
	file, err := os.Open(component.LogFile())
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		last := !c.follow || !component.Running() // it writes nothing after this
		if _, err := io.Copy(c.stdout, file); err != nil || last {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // it was interrupted
		case <-time.After(followInterval):
		}
	}
}
