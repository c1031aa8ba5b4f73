// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/keeper"
	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// Cluster is a running cluster. It is safe for concurrent use.
type Cluster struct {
	layout     layout
	admin      *http.Client
	components []*Component
	keeper     *keeper.Keeper // nil if the cluster outlives this process
	ports      *reservation
	saving     sync.Mutex // held while the state file is written
	stop       func() error
}

// startAttempts is how often a start is tried when somebody else took a port in the meantime.
const startAttempts = 3

// Start builds what is missing, which takes minutes the first time, and starts a cluster. It returns when the cluster is
// ready: all components are healthy and the default service account exists, so that pods can be made. The context bounds
// the start alone. The caller must call [Cluster.Stop]; if this process dies first, the cluster dies with it and its
// temporary directory is removed.
//
// An error says which component is at fault, with the telling lines of its log.
func Start(ctx context.Context, options *Options) (*Cluster, error) {
	o, err := options.resolve()
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	log := newSteps(o.Log)
	programs, err := buildPrograms(ctx, o, log)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	for attempt := 1; ; attempt++ {
		c, err := start(ctx, o, programs, attempt > 1, log)
		if err == nil {
			return c, nil
		}
		if attempt == startAttempts || !strings.Contains(err.Error(), "address already in use") {
			where := "set Options.Dir to keep the logs"
			if o.Dir != "" {
				where = "the logs are in " + o.Dir
			}
			return nil, fmt.Errorf("start cluster: %w\n%s", err, where)
		}
		log.printf("a port was taken meanwhile; trying others")
	}
}

// start makes one attempt, and leaves nothing behind if it fails but the files in a directory the caller asked for.
func start(ctx context.Context, o Options, programs programs, again bool, log *steps) (_ *Cluster, err error) {
	c := &Cluster{
		layout: layout{
			Dir: o.Dir, Temporary: o.Dir == "", Program: programs.kubernetes, Keeper: programs.keeper,
			KubernetesVersion: o.KubernetesVersion, Token: rand.Text(), Node: o.Node,
			APIServerArgs: o.APIServerArgs, FeatureGates: o.FeatureGates,
		},
		ports: new(reservation),
	}
	c.stop = sync.OnceValue(c.end)
	if err := c.layout.makeDir(again); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.keeper, err = c.layout.startKeeper(); err != nil {
		return nil, err
	}
	if err := c.layout.take(c.ports, o.APIPort); err != nil {
		return nil, err
	}
	if err := c.layout.writeKeys(); err != nil {
		return nil, err
	}
	if c.admin, err = c.layout.adminClient(); err != nil {
		return nil, err
	}
	if err := c.bringUp(ctx, o, programs, log); err != nil {
		return nil, err
	}
	if o.Detach {
		if err := c.detach(); err != nil {
			return nil, err
		}
	}
	log.printf("ready: %s", c.URL())
	return c, nil
}

// makeDir makes the state directory. It refuses one that holds something, unless a failed attempt left it.
func (l *layout) makeDir(again bool) (err error) {
	if l.Temporary {
		l.Dir, err = os.MkdirTemp("", "kubecluster-")
		return err
	}
	if again {
		if err := os.RemoveAll(l.Dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.Dir)
	if err == nil && len(entries) > 0 {
		return fmt.Errorf("the directory %s is not empty: stop the cluster in it, if there is one, and remove it", l.Dir)
	}
	return err
}

func (l *layout) startKeeper() (*keeper.Keeper, error) {
	k, err := keeper.Start(l.Keeper)
	if err != nil {
		return nil, err
	}
	err = k.Mark(l.mark())
	if l.Node {
		err = errors.Join(err, k.Run(node.CleanupProgram(l.nodeDir())))
	}
	if l.Temporary {
		err = errors.Join(err, k.Remove(l.Dir))
	}
	return k, err
}

func (l *layout) adminClient() (*http.Client, error) {
	return httpClient(l.pki("ca.crt"), l.pki("admin.crt"), l.pki("admin.key"))
}

// detach lets the cluster outlive this process.
func (c *Cluster) detach() error {
	k := c.keeper
	c.keeper = nil
	return errors.Join(k.Release(), c.ports.release())
}

// Open returns the cluster that another process started in dir, detached. Its components may have stopped meanwhile.
func Open(dir string) (*Cluster, error) {
	c, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open cluster: %w", err)
	}
	return c, nil
}

func open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	kept, err := readState(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{layout: kept.Layout}
	c.stop = sync.OnceValue(c.end)
	if c.admin, err = c.layout.adminClient(); err != nil {
		return nil, err
	}
	checks, err := c.checks()
	if err != nil {
		return nil, err
	}
	checks[Kubelet] = c.nodeReady
	for _, component := range kept.Components {
		component.Spec.Ready = checks[component.Spec.Name]
		c.add(process.Adopt(component.Spec, component.PID))
	}
	return c, nil
}

// Stop ends every process of the cluster and removes its directory, unless Options.Dir asked for it. It may be called
// again, and does not wait for the components' own, slower, ways to end: nothing of the cluster is needed any more.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) end() error {
	var errs []error
	for _, component := range c.components {
		errs = append(errs, component.Kill())
	}
	// From here on it is what happens when this process dies.
	k := c.keeper
	if k == nil {
		var err error
		if k, err = c.layout.startKeeper(); err != nil {
			return fmt.Errorf("stop cluster: %w", err)
		}
	}
	errs = append(errs, k.Close(), c.ports.release())
	if c.layout.Temporary {
		if _, err := os.Stat(c.layout.Dir); err == nil {
			errs = append(errs, fmt.Errorf("%s could not be removed", c.layout.Dir))
		}
	}
	if c.admin != nil {
		c.admin.CloseIdleConnections()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop cluster: %w", err)
	}
	return nil
}

// add takes the process into the cluster.
func (c *Cluster) add(p *process.Process) {
	c.components = append(c.components, &Component{process: p, started: c.record})
}

// record notes a new operating system process, for the keeper and for Open.
func (c *Cluster) record(p *process.Process) error {
	if c.keeper != nil {
		if err := c.keeper.Group(p.PID()); err != nil {
			return err
		}
	}
	return c.save()
}

// Components returns the cluster's components in the order they are started.
func (c *Cluster) Components() []*Component {
	return slices.DeleteFunc(slices.Clone(c.components), func(component *Component) bool {
		return component.Name() == nodeHolder // no part of Kubernetes, and no fault of it is like one of a real node
	})
}

// Component returns the component with this name, such as [APIServer]. It panics if the cluster has none: [Kubelet] and
// [Containerd] are there with a node only.
func (c *Cluster) Component(name string) *Component {
	for _, component := range c.Components() {
		if component.Name() == name {
			return component
		}
	}
	panic(fmt.Sprintf("cluster: there is no component %q", name))
}

// Ready waits until every component is ready, the default service account exists, and the node, if there is one, is Ready.
func (c *Cluster) Ready(ctx context.Context) error {
	var checks []func(context.Context) error
	for _, component := range c.components {
		checks = append(checks, component.Ready)
	}
	checks = append(checks, func(ctx context.Context) error {
		return c.Component(APIServer).process.Await(ctx, c.defaults)
	})
	if c.layout.Node {
		checks = append(checks, func(ctx context.Context) error {
			return c.Component(Kubelet).process.Await(ctx, c.nodeReady)
		})
	}
	return all(ctx, checks...)
}

// Dir returns the directory with the cluster's state.
func (c *Cluster) Dir() string { return c.layout.Dir }

// KubernetesVersion returns the version it runs.
func (c *Cluster) KubernetesVersion() string { return c.layout.KubernetesVersion }

// URL returns the API server's address.
func (c *Cluster) URL() string { return c.layout.url() }

// Kubeconfig returns the path of a kubeconfig file with two contexts: "admin", which is current, authenticates by client
// certificate and may do anything; "token" authenticates by bearer token as the user "token-user", who may only look
// (the cluster role "view").
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig("admin") }

// Token returns the bearer token of "token-user".
func (c *Cluster) Token() string { return c.layout.Token }

// CAFile returns the path of the authority that signed the API server's certificate, in PEM.
func (c *Cluster) CAFile() string { return c.layout.pki("ca.crt") }

// AdminCertFiles returns the paths of the administrator's client certificate and its key, in PEM.
func (c *Cluster) AdminCertFiles() (cert, key string) {
	return c.layout.pki("admin.crt"), c.layout.pki("admin.key")
}

// HTTPClient returns a client that verifies the API server's certificate and authenticates as the administrator.
func (c *Cluster) HTTPClient() *http.Client { return c.admin }

// tokenValidity is how long a token of ServiceAccountToken is good for.
const tokenValidity = time.Hour

// ServiceAccountToken returns a token for a service account that exists. It is good for an hour.
func (c *Cluster) ServiceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	request := map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int(tokenValidity.Seconds())},
	}
	var answer struct{ Status struct{ Token string } }
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/serviceaccounts/%s/token", c.URL(), namespace, name)
	if err := do(ctx, c.admin, http.MethodPost, url, request, &answer); err != nil {
		return "", fmt.Errorf("token for service account %s/%s: %w", namespace, name, err)
	}
	return answer.Status.Token, nil
}
