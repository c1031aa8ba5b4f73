// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
)

// shardsEnv makes the program of the tests a replica of a controller with sharding, in the namespace that it names.
// serverEnv is the URL of its server.
const (
	shardsEnv = "E2E_SHARDS"
	serverEnv = "E2E_SERVER"
)

// runShards is a program with a controller of config maps. Its runs print the times at which they would write.
func runShards(ns string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := runShardsUntil(ctx, ns)
	if ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runShardsUntil(ctx context.Context, ns string) error {
	cfg, err := kube.LoadConfig(ctx, nil)
	if err != nil {
		return err
	}
	server, err := url.Parse(cfg.Server)
	if err != nil {
		return err
	}
	cfg.TLSServerName, cfg.Server = cmp.Or(cfg.TLSServerName, server.Hostname()), os.Getenv(serverEnv)
	c, err := kube.NewClient(ctx, &kube.ClientOptions{Config: cfg})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", os.Getpid())
	m := kube.NewManager(c, &kube.ManagerOptions{Logger: log, Sharding: "shop", Shards: &kube.ShardingOptions{
		Namespace: ns, LeaseDuration: 4 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
	}})
	cache := kube.NewCache(c, &kube.CacheOptions{Logger: log})
	view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns})
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: log})
	var runs atomic.Int64
	m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		id := fmt.Sprintf("%d-%d", os.Getpid(), runs.Add(1))
		for range 6 {
			say(ctx, m, "runs", cm.Name, id)
			<-time.After(3 * time.Millisecond)
		}
		if !say(ctx, m, "done", cm.Name, id+"-"+cm.Data["v"]) {
			return kube.AwaitChange(), errors.New("the term is over, or the process was too slow to know")
		}
		return kube.AwaitChange(), nil
	}))
	return m.Run(ctx)
}

// say prints something that a run does, and when, unless its context has ended, or is about to. It reports whether it
// did.
func say(ctx context.Context, m *kube.Manager, what, name, id string) bool {
	before := time.Now()
	if s, _ := m.Shards(); !s.Joined || ctx.Err() != nil || time.Since(before) >= time.Millisecond {
		return false
	}
	fmt.Fprintln(os.Stdout, what, name, id, before.UnixMicro())
	return true
}

// shardReplicas are processes that divide config maps among themselves.
type shardReplicas struct {
	t  *testing.T
	ns string
	wg sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	moments map[string][]moment
	done    map[string]string // the last value of each object with which a run has ended
}

// shardReplica is one of the processes. Its connections pass through a forwarder.
type shardReplica struct {
	*exec.Cmd
	link *link
}

func (r *shardReplicas) start() *shardReplica {
	r.t.Helper()
	program, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	one := &shardReplica{exec.Command(program), newLink(r.t)} //nolint:noctx // the test ends it
	one.Env = append(os.Environ(), shardsEnv+"="+r.ns, serverEnv+"=https://"+one.link.addr)
	if builtin != nil {
		one.Env = append(one.Env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	one.Stderr = r.t.Output()
	out, err := one.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := one.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.wg.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.note(lines.Text())
		}
	})
	return one
}

// note takes note of a line of a process.
func (r *shardReplicas) note(line string) {
	var kind, name, id string
	var at int64
	if _, err := fmt.Sscan(line, &kind, &name, &id, &at); err != nil {
		r.t.Errorf("%q: %v", line, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind == "runs" {
		r.moments[name] = append(r.moments[name], moment{at, id})
		return
	}
	var pid, run int
	var value string
	if _, err := fmt.Sscanf(id, "%d-%d-%s", &pid, &run, &value); err == nil {
		r.done[name] = value
	}
}

// end ends a process with a signal.
func (r *shardReplicas) end(one *shardReplica, s os.Signal) {
	r.t.Helper()
	if err := one.Process.Signal(s); err != nil {
		r.t.Error(err)
	}
	_ = one.Wait() // it may have been killed
}

// reconciled waits until the newest values of all objects have been reconciled.
func (r *shardReplicas) reconciled(want map[string]string) {
	r.t.Helper()
	eventually(r.t, "all objects are reconciled", func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, value := range want {
			if r.done[name] != value {
				return fmt.Errorf("%s was reconciled with %q, want %q", name, r.done[name], value)
			}
		}
		return nil
	})
}

// TestObjectsOfShardsHaveOneRunAtATime pauses, kills, ends and disconnects processes that reconcile objects together.
// No object has two runs at a time, and each change is reconciled.
func TestObjectsOfShardsHaveOneRunAtATime(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	r := &shardReplicas{t: t, ns: newNamespace(t, c), moments: map[string][]moment{}, done: map[string]string{}}
	maps, want := kube.Namespaced[corev1.ConfigMap](c, r.ns), map[string]string{}
	for i := range 40 {
		name := fmt.Sprint("cm-", i)
		create(t, maps, name, "0")
		want[name] = "0"
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) //nolint:gosec // need not be secret
	processes := []*shardReplica{r.start(), r.start(), r.start()}
	r.reconciled(want)
	faults := random.Perm(4)
	for round := range 8 {
		one := &processes[random.IntN(len(processes))]
		var healed sync.WaitGroup
		switch span := time.Duration(1000+random.IntN(4000)) * time.Millisecond; faults[round%4] {
		case 0:
			process := (*one).Cmd
			healed.Go(func() { pause(t, process, span) })
		case 1:
			link := (*one).link
			link.cut.Lock()
			healed.Go(func() { <-time.After(span); link.cut.Unlock() })
		case 2:
			r.end(*one, os.Kill)
			*one = r.start()
		case 3:
			r.end(*one, syscall.SIGTERM)
			*one = r.start()
		}
		for range 20 {
			name := fmt.Sprint("cm-", random.IntN(len(want)))
			want[name] = fmt.Sprint(want[name], round)
			if _, err := maps.Patch(limit(t), name, setValue(want[name]), nil); err != nil {
				t.Fatal(err)
			}
		}
		r.reconciled(want)
		healed.Wait()
	}
	for _, one := range processes {
		r.end(one, syscall.SIGTERM)
	}
	r.wg.Wait()
	r.check()
}

// check checks that the runs of each object do not overlap.
func (r *shardReplicas) check() {
	r.t.Helper()
	runs := 0
	for name, moments := range r.moments {
		slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
		seen, last := map[string]bool{}, ""
		for _, m := range moments {
			if m.term != last && seen[m.term] {
				r.t.Errorf("%s: the run %s continues after the run %s has begun", name, m.term, last)
			}
			last, seen[m.term] = m.term, true
		}
		runs += len(seen)
	}
	r.t.Logf("%d runs", runs)
}

// link is a forwarder to the API server that nothing passes while cut is locked.
type link struct {
	addr string
	cut  sync.RWMutex
}

func newLink(t *testing.T) *link {
	t.Helper()
	server, err := url.Parse(loadConfig(t, "").Server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: listener.Addr().String()}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { l.forward(near, server.Host) })
		}
	})
	return l
}

func (l *link) forward(near net.Conn, host string) {
	defer near.Close()
	far, err := net.Dial("tcp", host) //nolint:noctx // on this machine
	if err != nil {
		return
	}
	defer far.Close()
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			_, _ = io.Copy(cuttable{pair[0], l}, struct{ io.Reader }{pair[1]}) // until one of them ends
			pair[0].Close()
		})
	}
	wg.Wait()
}

// cuttable is a connection whose writes wait while the link is cut.
type cuttable struct {
	net.Conn
	link *link
}

func (c cuttable) Write(p []byte) (int, error) {
	c.link.cut.RLock()
	defer c.link.cut.RUnlock()
	return c.Conn.Write(p)
}

// TestShardsAreHandedOver checks that two replicas share the objects, and that the objects of one that stops run in the
// other within 2 s, with the durations that programs have by default.
func TestShardsAreHandedOver(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for i := range 100 {
		create(t, maps, fmt.Sprintf("cm-%d", i), "1")
	}
	var mu sync.Mutex // guards owners and begun
	owners, begun := map[string]string{}, time.Time{}
	start := func(name string) (stop func() error, shares func() int) {
		view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
		ctl := kube.NewController(kube.ForView(view), nil)
		m := kube.NewManager(c, &kube.ManagerOptions{
			Sharding: "shop", Shards: &kube.ShardingOptions{Namespace: ns, Identity: name},
		})
		m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			mu.Lock()
			defer mu.Unlock()
			if owners[cm.Name] != name && name == "a" && !begun.IsZero() {
				if r, _ := controller.RunOf(ctx); r.Causes[0].Type != controller.CauseResharded {
					t.Errorf("%s runs because of %v", cm.Name, r.Causes)
				}
			}
			owners[cm.Name] = name
			return kube.AwaitChange(), nil
		}))
		return background(t, m.Run), func() int {
			s, _ := m.Shards()
			return s.Slots
		}
	}
	count := func(name string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, owner := range owners {
			if owner == name {
				n++
			}
		}
		return n
	}
	_, slotsOfA := start("a")
	stopB, slotsOfB := start("b")
	eventually(t, "the replicas share the objects", func(context.Context) error {
		if a, b := slotsOfA(), slotsOfB(); a != 128 || b != 128 || count("a")+count("b") != 101 || count("b") < 30 {
			return fmt.Errorf("%d and %d slots, %d and %d objects", a, b, count("a"), count("b"))
		}
		return nil
	})
	of := count("b")
	mu.Lock()
	begun = time.Now()
	mu.Unlock()
	if err := stopB(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
	eventually(t, "the other replica has all objects", func(context.Context) error {
		if n := count("a"); n != 101 {
			return fmt.Errorf("%d objects", n)
		}
		return nil
	})
	took := time.Since(begun)
	if took > 10*time.Second { // less than the lease, which lasts 15 s
		t.Errorf("the hand-over took %v", took)
	}
	t.Logf("%d objects were handed over in %v", of, took)
}
