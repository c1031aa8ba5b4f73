// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

// ranch is the mooses of a namespace, for tests of machines. The machines have outputs in the namespace and in another
// one.
type ranch struct {
	config *kube.Config
	direct *kube.Client // without faults
	ns     string
	far    string // the other namespace
	mooses *kube.API[v1.Moose]
	maps   *kube.API[corev1.ConfigMap] // in all namespaces

	watchFar string // if set, outputs of this machine in the other namespace start passes
}

func newRanch(t *testing.T, c *kube.Client) *ranch {
	t.Helper()
	ns := newNamespace(t, c)
	return &ranch{
		config: c.Config(), direct: c, ns: ns, far: newNamespace(t, c),
		mooses: kube.Namespaced[v1.Moose](c, ns), maps: kube.ClusterWide[corev1.ConfigMap](c),
	}
}

// create creates a moose with annotations.
func (r *ranch) create(t *testing.T, name string, weight int32, annotations map[string]string) {
	t.Helper()
	_, err := r.mooses.Create(limit(t), &v1.Moose{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: v1.MooseSpec{Weight: weight},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// annotate sets an annotation of a moose, or removes it if the value is nil.
func (r *ranch) annotate(t *testing.T, name, key string, value any) {
	t.Helper()
	patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if _, err := r.mooses.Patch(limit(t), name, patch, nil); err != nil {
		t.Fatal(err)
	}
}

// await waits for a condition of a moose.
func (r *ranch) await(t *testing.T, name string, condition func(*v1.Moose) error) *v1.Moose {
	t.Helper()
	moose, err := kube.Await(limit(t), r.mooses, name, condition, nil)
	if err != nil {
		t.Fatal(err)
	}
	return moose
}

// outputs returns the outputs of a moose as "name=value", those in the other namespace as "far/name=value", and their
// UIDs by name. The name of the moose is left out.
func (r *ranch) outputs(ctx context.Context, moose string) (all []string, uids map[string]types.UID, err error) {
	uids = map[string]types.UID{}
	for _, ns := range []string{r.ns, r.far} {
		for cm, err := range r.maps.In(ns).All(ctx, nil) {
			if err != nil {
				return nil, nil, err
			}
			name, ok := strings.CutPrefix(cm.Name, moose+"-")
			if !ok {
				continue
			}
			if ns == r.far {
				name = "far/" + name
			}
			all, uids[name] = append(all, name+"="+cm.Data["v"]), cm.UID
		}
	}
	slices.Sort(all)
	return all, uids, nil
}

// wantOutputs fails the test unless a moose has exactly these outputs. It returns their UIDs.
func (r *ranch) wantOutputs(t *testing.T, what, moose string, want ...string) map[string]types.UID {
	t.Helper()
	got, uids, err := r.outputs(limit(t), moose)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%s: the outputs of %s are %v, want %v", what, moose, got, want)
	}
	return uids
}

// exactly returns a check that a moose has exactly these outputs.
func (r *ranch) exactly(moose string, want ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		got, _, err := r.outputs(ctx, moose)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("the outputs of %s are %v, want %v", moose, got, want)
		}
		return err
	}
}

// output declares a ConfigMap of a moose.
func output(c *fsm.Ctx[v1.Moose], name, value string) inventory.Declaration {
	return inventory.Declaration{Object: configMap(c.Obj.Name+"-"+name, value)}
}

// farOutput declares a ConfigMap in the other namespace, which Env names.
func farOutput(c *fsm.Ctx[v1.Moose], name, value string) inventory.Declaration {
	d := output(c, name, value)
	d.Object.SetNamespace(fsm.Env[string](c))
	return d
}

// parked reports whether a moose stays in a state: its annotation park names the states.
func parked(c *fsm.Ctx[v1.Moose], state string) bool {
	return slices.Contains(strings.Fields(c.Obj.Annotations["park"]), state)
}

// inState is the condition that the machine has stored a state for the current generation.
func inState(state string) func(*v1.Moose) error {
	return func(moose *v1.Moose) error {
		if p := moose.Status.FSM; p == nil || p.State != state || p.Generation != moose.Generation {
			return fmt.Errorf("it is in the state %+v, want %s", p, state)
		}
		return nil
	}
}

// isReady is the condition that the machine is done for the current generation.
func isReady(moose *v1.Moose) error {
	for _, c := range moose.Status.Conditions {
		if c.Type == "Ready" && c.Status == metav1.ConditionTrue && c.ObservedGeneration == moose.Generation {
			return nil
		}
	}
	return fmt.Errorf("it is not ready for the generation %d: %+v", moose.Generation, moose.Status.Conditions)
}

// keeper is a program: a controller that runs a machine for a ranch.
type keeper struct {
	machine *fsm.Machine[v1.Moose]
	sent    requests
	killer  killer
	seen    sync.Map // the objects that it has reconciled without an error, by their names
	metrics func() controller.Metrics
	log     tail
	stop    func() error // also waits until a killed program has ended
}

// machineFunc returns the machine of a keeper.
type machineFunc func(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose]

// keep starts a program. The options have the views and the environment of the machine when build receives them.
func (r *ranch) keep(t *testing.T, o fsm.Options, build machineFunc, layers ...kube.Middleware) *keeper {
	t.Helper()
	k := new(keeper)
	k.killer.dead = make(chan struct{})
	logger := slog.New(slog.NewTextHandler(&k.log, nil))
	c, err := kube.NewClient(t.Context(), &kube.ClientOptions{
		Config: r.config, Logger: logger, PerAttempt: append([]kube.Middleware{k.sent.layer, k.killer.layer}, layers...),
	})
	if err != nil {
		t.Fatal(err)
	}
	cache := kube.NewCache(c, &kube.CacheOptions{Logger: logger})
	view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: r.ns})
	o.Views, o.Env = []inventory.View{view}, r.far
	k.machine = build(c, &o)
	ctl := kube.NewController(kube.ForView(kube.ViewOf[v1.Moose](cache, &kube.Selection{Namespace: r.ns})), &kube.ControllerOptions{
		Logger:      logger,
		StopTimeout: time.Nanosecond,
		Retry:       &kube.Backoff{InitialBackoff: 5 * time.Millisecond, MaxBackoff: time.Second},
		OnResult: func(result kube.Result) {
			if result.Err == nil {
				k.seen.Store(result.Key.Ref.Name, true)
			}
		},
	}).Owns(kube.SourceView(view)).Watches(kube.On(k.machine.Signals))
	if r.watchFar != "" {
		far := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: r.far})
		ctl.Watches(kube.SourceView(far).Map(inventory.OwnersOf[corev1.ConfigMap](r.watchFar)))
	}
	k.metrics = ctl.Metrics
	k.stop = background(t, func(ctx context.Context) error {
		defer c.CloseIdleConnections()
		ctx, die := context.WithCancelCause(ctx)
		defer die(nil)
		k.killer.start(die)
		if err := ctl.Run(ctx, k.machine.Reconcile); !errors.Is(err, errKilled) {
			return err
		}
		return errStopped
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of a program:\n%s", &k.log)
		}
	})
	return k
}

// writes returns the number of requests that are not reads.
func (k *keeper) writes() int {
	return k.sent.count() - k.sent.count("GET ")
}

// kill kills the program now, and waits until it has ended.
func (k *keeper) kill(t *testing.T) {
	t.Helper()
	k.killer.end()
	if err := k.stop(); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
}

// looked returns a check that a program has reconciled all mooses and has no work.
func (r *ranch) looked(k *keeper) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := r.mooses.List(ctx, nil)
		if err != nil {
			return err
		}
		for _, moose := range list.Items {
			if _, ok := k.seen.Load(moose.Name); !ok {
				return fmt.Errorf("%s was not reconciled", moose.Name)
			}
		}
		if s := k.metrics().Applier; s.Ready+s.Running+s.Held > 0 {
			return fmt.Errorf("the work is %+v", s)
		}
		return nil
	}
}

// steady starts a program that finds nothing to do, and checks that it reconciles all mooses and writes nothing.
func (r *ranch) steady(t *testing.T, o fsm.Options, build machineFunc) {
	t.Helper()
	k := r.keep(t, o, build)
	eventually(t, "all mooses are reconciled", r.looked(k))
	k.kill(t)
	if n := k.writes(); n > 0 {
		t.Errorf("steady passes have written %d times: %v", n, k.sent.sent)
	}
}

// killer is a middleware that kills a program: from one moment on, all of its requests fail and its context ends, so it
// can't write that it stops. Responses to requests on their way are lost.
type killer struct {
	dead chan struct{} // is closed when the program is killed

	mu     sync.Mutex  // guards the fields below
	die    func(error) // ends the context of the program
	killed bool
	after  int  // the number of the write at which it is killed, or 0
	sent   bool // the server processes this write
}

// start sets the function that ends the context of the program.
func (k *killer) start(die func(error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.die = die; k.killed {
		die(errKilled)
	}
}

// at makes the killer kill the program at a write.
func (k *killer) at(after int, sent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.after, k.sent = after, sent
}

// end kills the program now.
func (k *killer) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return
	}
	k.killed = true
	close(k.dead)
	if k.die != nil {
		k.die(errKilled)
	}
}

func (k *killer) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		now, sent, err := k.begin(req)
		if now && !sent {
			k.end()
			err = errKilled
		}
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, err
		}
		if now { // the request of a dead program is on its way
			req = req.WithContext(context.WithoutCancel(req.Context()))
		}
		resp, err := next.RoundTrip(req)
		if now {
			k.end()
		}
		if err == nil && k.isDead() {
			if now {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			_ = resp.Body.Close()
			return nil, errKilled
		}
		return resp, err
	})
}

func (k *killer) isDead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.killed
}

// begin counts a request. It reports whether the program is killed at it.
func (k *killer) begin(req *http.Request) (now, sent bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return false, false, errKilled
	}
	if req.Method == http.MethodGet || k.after == 0 {
		return false, false, nil
	}
	k.after--
	return k.after == 0, k.sent, nil
}

// births records the UIDs of all objects that have ever existed, by name. It is safe for concurrent use.
type births struct {
	mu   sync.Mutex // guards uids
	uids map[string]map[types.UID]bool
}

// recordBirths watches objects until the test ends.
func recordBirths[K any, P core.ObjectPtr[K]](t *testing.T, api *kube.API[K]) *births {
	t.Helper()
	b := &births{uids: map[string]map[types.UID]bool{}}
	background(t, func(ctx context.Context) error {
		for ev, err := range kube.Watch[K, P](ctx, api, nil) {
			if err != nil {
				return err
			}
			if ev.Type == kube.Bookmark {
				continue
			}
			obj := P(ev.Object)
			b.mu.Lock()
			if b.uids[obj.GetName()] == nil {
				b.uids[obj.GetName()] = map[types.UID]bool{}
			}
			b.uids[obj.GetName()][obj.GetUID()] = true
			b.mu.Unlock()
		}
		return errors.New("the watch has ended without an error")
	})
	return b
}

// of returns the UIDs of the objects of a name.
func (b *births) of(name string) []types.UID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.uids[name]))
}

// names returns the names of all objects.
func (b *births) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.uids))
}

// atRequests returns the function Connect of a scenario whose program is killed at each of its requests.
func atRequests(t *testing.T, c *kube.Client) func(middleware.Func) (*kube.Client, error) {
	t.Helper()
	return func(m middleware.Func) (*kube.Client, error) {
		return kube.NewClient(t.Context(), &kube.ClientOptions{Config: c.Config(), PerAttempt: []middleware.Func{m}})
	}
}

// atWrites is like atRequests, but the program is not killed at reads: a crash at a read leaves the same objects as one
// before the next write or after the last one.
func atWrites(t *testing.T, c *kube.Client) func(middleware.Func) (*kube.Client, error) {
	t.Helper()
	connect := atRequests(t, c)
	return func(m middleware.Func) (*kube.Client, error) { return connect(onlyWrites(m)) }
}

// onlyWrites returns a middleware that skips another one for reads.
func onlyWrites(m middleware.Func) middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		writes := m(next)
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			return writes.RoundTrip(r)
		})
	}
}
