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
	"github.com/kube-go/sdk/tests/cluster/internal/rest"
)

// Cluster is a running cluster. It is safe for concurrent use.
type Cluster struct {
	layout     layout
	admin      *http.Client
	components []*Component
	keeper     *keeper.Keeper // nil if the cluster outlives this process
	ports      *reservation
	starting   bool // see Started
	stop       func() error
}

// startAttempts is the number of attempts to start when another program has taken a port in the meantime.
const startAttempts = 3

// Start builds missing programs, which takes minutes the first time, and starts a cluster. It returns when the cluster
// is ready: all components are healthy and the default service account exists, so that pods can be created. The context
// limits only the start. The caller must call [Cluster.Stop]. If this process dies first, the cluster ends with it, and
// its temporary directory is removed.
//
// An error names the component that failed, with the relevant lines of its log.
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
		log.printf("a port is already in use; trying others")
	}
}

// start makes one attempt. If it fails, only the files in a directory that the caller asked for remain.
func start(ctx context.Context, o Options, programs programs, again bool, log *steps) (_ *Cluster, err error) {
	c := &Cluster{
		layout: layout{
			Dir: o.Dir, Temporary: o.Dir == "", Program: programs.kubernetes, Keeper: programs.keeper,
			KubernetesVersion: o.KubernetesVersion, Token: rand.Text(), Node: o.Node,
			APIServerArgs: o.APIServerArgs, FeatureGates: o.FeatureGates, Image: programs.node.Image,
		},
		ports: new(reservation),
	}
	c.stop = sync.OnceValue(c.end)
	if err := c.layout.take(c.ports, o.APIPort); err != nil {
		return nil, errors.Join(err, c.ports.release())
	}
	if err := c.layout.makeDir(again); err != nil {
		return nil, errors.Join(err, c.ports.release())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if c.keeper, err = c.layout.startKeeper(); err != nil {
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
	if err := c.saveStarted(); err != nil {
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

// makeDir creates the state directory, and in it the one of the keys. It returns an error for a non-empty directory,
// unless a failed attempt left it, and for one in which another process starts a cluster: only one can create the
// directory of the keys.
func (l *layout) makeDir(again bool) (err error) {
	if l.Temporary {
		if l.Dir, err = os.MkdirTemp("", "kubecluster-"); err != nil {
			return err
		}
		return os.Mkdir(l.pki(""), 0o700)
	}
	if again {
		if err := os.RemoveAll(l.Dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.Dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(l.Dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		err = os.Mkdir(l.pki(""), 0o700)
	}
	if len(entries) > 0 || errors.Is(err, os.ErrExist) {
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

// detach makes the cluster independent of this process.
func (c *Cluster) detach() error {
	k := c.keeper
	c.keeper = nil
	return errors.Join(k.Release(), c.ports.release())
}

// Open returns a detached cluster that another process started in dir. Its components may have stopped in the meantime.
// While the start is not complete, which [Cluster.Started] reports, components may be missing.
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
	c := &Cluster{layout: kept.Layout, starting: kept.Starting}
	c.stop = sync.OnceValue(c.end)
	if c.admin, err = c.layout.adminClient(); err != nil {
		return nil, err
	}
	checks, err := c.checks()
	if err != nil {
		return nil, err
	}
	healthy := checks[Kubelet]
	checks[Kubelet] = func(ctx context.Context) error { // the Node stays Ready for a while after the kubelet has ended
		if err := healthy(ctx); err != nil {
			return err
		}
		return c.nodeReady(ctx)
	}
	for _, component := range kept.Components {
		component.Spec.Ready = checks[component.Spec.Name]
		c.add(process.Adopt(component.Spec, component.PID))
	}
	return c, nil
}

// Stop ends every process of the cluster and removes its directory, unless Options.Dir is set. It may be called more
// than once. It kills the components, since nobody needs their state. If something of the cluster remains, it
// returns an error and keeps the directory.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) end() error {
	var errs []error
	for _, component := range c.components {
		errs = append(errs, component.process.Close()) // a concurrent Restart must not start it again
	}
	// From here on, Stop does the same as the keeper when this process dies.
	errs = append(errs, c.endKeeper(), c.ports.release())
	if c.admin != nil {
		c.admin.CloseIdleConnections()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop cluster: %w", err)
	}
	return nil
}

// endKeeper makes the keeper end the cluster. It starts a new keeper if the cluster has none, or if it was killed.
func (c *Cluster) endKeeper() error {
	if c.keeper != nil {
		if err := c.keeper.Close(); !errors.Is(err, keeper.ErrKilled) {
			return err
		}
	}
	k, err := c.layout.startKeeper()
	if err != nil {
		return err
	}
	return k.Close()
}

// Clean ends a cluster that [Open] does not find, because files in its directory were deleted. It finds the processes
// by their environment, and the parts of a node by names that follow from the directory, which it does not change.
// options are those of [Start], of which it uses Dir, CacheDir and Log. Without /proc, as on macOS, it finds nothing.
func Clean(ctx context.Context, options *Options) error {
	if err := clean(ctx, options); err != nil {
		return fmt.Errorf("clean up a cluster: %w", err)
	}
	return nil
}

func clean(ctx context.Context, options *Options) error {
	o, err := options.resolve()
	if err != nil {
		return err
	}
	if o.Dir == "" {
		return errors.New("the directory of the cluster is missing: set Options.Dir")
	}
	log := newSteps(o.Log)
	program, err := keeper.Build(ctx, o.CacheDir, func(line string) { log.printf("%s", line) })
	if err != nil {
		return err
	}
	l := layout{Dir: o.Dir, Keeper: program}
	cleanup, err := node.NewCleanupProgram(l.nodeDir())
	if err != nil {
		return err
	}
	k, err := l.startKeeper()
	if err != nil {
		return err
	}
	if cleanup != "" {
		err = errors.Join(k.Run(cleanup), k.Remove(filepath.Dir(cleanup)))
	}
	return errors.Join(err, k.Close())
}

// add adds the process to the cluster.
func (c *Cluster) add(p *process.Process) {
	c.components = append(c.components, &Component{process: p, started: c.record})
}

// record stores a new operating system process, for the keeper and for Open.
func (c *Cluster) record(p *process.Process) error {
	if c.keeper != nil {
		if err := c.keeper.Group(p.PID()); err != nil {
			return err
		}
	}
	return c.save(p)
}

// Components returns the cluster's components in the order in which they start.
func (c *Cluster) Components() []*Component {
	return slices.DeleteFunc(slices.Clone(c.components), func(component *Component) bool {
		return component.Name() == nodeHolder // it is not part of Kubernetes, and real nodes do not have it
	})
}

// Component returns the component with this name, such as [APIServer]. It panics if the cluster does not have it: only
// clusters with a node have [Kubelet] and [Containerd].
func (c *Cluster) Component(name string) *Component {
	for _, component := range c.Components() {
		if component.Name() == name {
			return component
		}
	}
	panic(fmt.Sprintf("cluster: no component %q", name))
}

// Ready waits until every component is ready, the default service account exists, and the node, if the cluster has one,
// is Ready.
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

// Started reports whether the start of the cluster is complete. It is false for a cluster of [Open] that another
// process was starting at that time, or whose start has failed.
func (c *Cluster) Started() bool { return !c.starting }

// Dir returns the directory with the cluster's state.
func (c *Cluster) Dir() string { return c.layout.Dir }

// KubernetesVersion returns the version of Kubernetes.
func (c *Cluster) KubernetesVersion() string { return c.layout.KubernetesVersion }

// URL returns the API server's address.
func (c *Cluster) URL() string { return c.layout.url() }

// Kubeconfig returns the path of a kubeconfig file with two contexts: "admin", the current one, authenticates with a
// client certificate and has all permissions; "token" authenticates with a bearer token as the user "token-user", who
// may only read (the cluster role "view").
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig("admin") }

// Token returns the bearer token of "token-user".
func (c *Cluster) Token() string { return c.layout.Token }

// CAFile returns the path of the certificate of the authority that signed the API server's certificate, in PEM.
func (c *Cluster) CAFile() string { return c.layout.pki("ca.crt") }

// AdminCertFiles returns the paths of the administrator's client certificate and its key, in PEM.
func (c *Cluster) AdminCertFiles() (cert, key string) {
	return c.layout.pki("admin.crt"), c.layout.pki("admin.key")
}

// HTTPClient returns a client that verifies the API server's certificate and authenticates as the administrator.
func (c *Cluster) HTTPClient() *http.Client { return c.admin }

// tokenValidity is the validity of a token of ServiceAccountToken.
const tokenValidity = time.Hour

// ServiceAccountToken returns a token for an existing service account. It is valid for an hour.
func (c *Cluster) ServiceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	request := map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int(tokenValidity.Seconds())},
	}
	var answer struct{ Status struct{ Token string } }
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/serviceaccounts/%s/token", c.URL(), namespace, name)
	if err := rest.Do(ctx, c.admin, http.MethodPost, url, request, &answer); err != nil {
		return "", fmt.Errorf("token for service account %s/%s: %w", namespace, name, err)
	}
	return answer.Status.Token, nil
}
