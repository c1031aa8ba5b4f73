// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
	"github.com/kube-go/sdk/tests/cluster/internal/keeper"
	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
	"github.com/kube-go/sdk/tests/cluster/internal/rest"
)

// programs has the paths of the built programs.
type programs struct {
	kubernetes, keeper string
	node               node.Binaries
}

func buildPrograms(ctx context.Context, o Options, log *steps) (built programs, err error) {
	if o.Node {
		if err := node.Check(); err != nil {
			return programs{}, err
		}
	}
	progress := func(line string) { log.printf("%s", line) }
	if built.keeper, err = keeper.Build(ctx, o.CacheDir, progress); err != nil {
		return programs{}, err
	}
	if built.kubernetes, err = build.Kubernetes(ctx, o.KubernetesVersion, o.CacheDir, progress); err != nil {
		return programs{}, err
	}
	if o.Node {
		built.node, err = node.Build(ctx, o.CacheDir, progress)
	}
	return built, err
}

// bringUp starts the components and waits until the cluster is ready.
func (c *Cluster) bringUp(ctx context.Context, o Options, programs programs, log *steps) error {
	timeout := fmt.Errorf("the cluster was not ready in %v", o.ReadyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, o.ReadyTimeout, timeout)
	defer cancel()
	checks, err := c.checks()
	if err != nil {
		return err
	}
	specs := c.layout.specs(checks)
	last := []func(context.Context) error{c.Ready, c.setUp}
	if o.Node {
		made, err := c.layout.prepareNode(programs.node)
		if err != nil {
			return err
		}
		// The node's first two components need no API server, so they start at the same time; the kubelet is last.
		others := made.Specs()
		specs = slices.Concat(specs[:2], others[:2], specs[2:], others[2:])
		last = append(last, func(ctx context.Context) error { return made.AfterReady(ctx, c.admin, c.URL()) })
	}
	for _, spec := range specs {
		if err := c.before(ctx, spec.Name); err != nil {
			return err
		}
		p, err := process.Start(ctx, spec)
		if err != nil {
			return err
		}
		c.add(p)
		if err := c.record(p); err != nil {
			return err
		}
	}
	log.printf("started %d components, waiting until they are ready", len(specs))
	return all(ctx, last...)
}

func (c *Cluster) checks() (map[string]check, error) {
	etcd, err := c.layout.etcdClient()
	if err != nil {
		return nil, err
	}
	return c.layout.checks(c.admin, etcd), nil
}

// before waits for the dependency without which the component exits at its start.
func (c *Cluster) before(ctx context.Context, name string) error {
	switch name {
	case ControllerManager:
		return c.apiAnswers(ctx)
	case Containerd:
		return c.components[len(c.components)-1].Ready(ctx) // the holder of the node's mount namespace
	case Kubelet:
		return c.Component(Containerd).Ready(ctx)
	}
	return nil
}

// apiAnswers waits until the API server has the default roles and publishes its authentication configuration, which
// happens before it is completely ready.
func (c *Cluster) apiAnswers(ctx context.Context) error {
	published := c.URL() + "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	roles := c.URL() + "/readyz/poststarthook/rbac/bootstrap-roles"
	await := func(name string, check func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { return c.Component(name).process.Await(ctx, check) }
	}
	return all(ctx,
		c.Component(Etcd).Ready, // if etcd dies, the error is about etcd and not about the API server
		await(APIServer, rest.Healthy(c.admin, published)),
		await(APIServer, rest.Healthy(c.admin, roles)),
	)
}

// setUp creates the objects that the cluster has beyond Kubernetes' own.
func (c *Cluster) setUp(ctx context.Context) error {
	binding := map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "kubecluster:" + tokenUser},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": tokenUser}},
	}
	return c.Component(APIServer).process.Await(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, rest.ProbeTimeout)
		defer cancel()
		err := rest.Do(
			ctx,
			c.admin,
			http.MethodPost,
			c.URL()+"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
			binding,
			nil,
		)
		if status, ok := errors.AsType[*rest.StatusError](err); ok && status.Code == http.StatusConflict {
			return nil // the response to an earlier attempt was lost
		}
		return err
	})
}

// defaults reports whether the controllers have created the objects that a pod in the default namespace needs.
func (c *Cluster) defaults(ctx context.Context) error {
	for _, path := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		if err := rest.Healthy(c.admin, c.URL()+"/api/v1/namespaces/default/"+path)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// all runs the functions concurrently and waits for them. The first error cancels the others and is returned.
func all(ctx context.Context, functions ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	for _, function := range functions {
		wait.Go(func() {
			if err := function(ctx); err != nil {
				once.Do(func() {
					first = err
					cancel(errors.New("another component failed"))
				})
			}
		})
	}
	wait.Wait()
	return first
}

// steps prints each step with its time.
type steps struct {
	began time.Time
	mu    sync.Mutex // guards out
	out   io.Writer
}

func newSteps(out io.Writer) *steps { return &steps{began: time.Now(), out: out} }

// printf prints a line. It ignores errors: the log is only for people who watch.
func (s *steps) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, "%6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}
