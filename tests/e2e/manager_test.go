// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/election"
)

// replicaEnv makes the program of the tests a replica of a controller, for the lease that it names.
const replicaEnv = "E2E_REPLICA"

// runReplica is a program that leads at times: a manager with a controller of config maps. It prints the times at which
// it would write as the leader, and the runs of the controller.
func runReplica(lease string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ns := os.Getenv("E2E_NAMESPACE")
	e := election.New(c, &election.Options{
		Name: lease, Namespace: ns,
		LeaseDuration: 4 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
	})
	for ctx.Err() == nil {
		err = e.Run(ctx, func(ctx context.Context) error {
			for ctx.Err() == nil {
				before := time.Now()
				if s := e.Status(); s.Leading && time.Since(before) < time.Millisecond {
					fmt.Fprintln(os.Stdout, "leads", s.Transitions, before.UnixMicro())
				}
				<-time.After(5 * time.Millisecond)
			}
			return context.Cause(ctx)
		})
		if !errors.Is(err, election.ErrLost) && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// moment is a time at which a replica leads.
type moment struct {
	at   int64 // microseconds since 1970
	term string
}

// replicas are processes that compete for a lease.
type replicas struct {
	t      *testing.T
	ns     string
	wg     sync.WaitGroup
	starts int

	mu      sync.Mutex // guards moments
	moments []moment
}

// start starts a process.
func (r *replicas) start() *exec.Cmd {
	r.t.Helper()
	program, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(program) //nolint:noctx // the test ends it
	cmd.Env = append(os.Environ(), replicaEnv+"=shop", "E2E_NAMESPACE="+r.ns)
	if builtin != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	cmd.Stderr = r.t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.starts++
	id := r.starts
	r.wg.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var m moment
			var transitions int
			if _, err := fmt.Sscanf(lines.Text(), "leads %d %d", &transitions, &m.at); err != nil {
				r.t.Errorf("%q: %v", lines.Text(), err)
			}
			m.term = fmt.Sprintf("replica %d, transition %d", id, transitions)
			r.mu.Lock()
			r.moments = append(r.moments, m)
			r.mu.Unlock()
		}
	})
	return cmd
}

// leader returns the term of the newest moment, if it is of the last second.
func (r *replicas) leader() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := moment{}
	for _, m := range r.moments {
		if m.at > newest.at {
			newest = m
		}
	}
	if time.Since(time.UnixMicro(newest.at)) > time.Second {
		return ""
	}
	return newest.term
}

// TestTermsOfProcessesNeverOverlap pauses, kills and ends processes that compete for a lease, and stops the API server.
func TestTermsOfProcessesNeverOverlap(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	r := &replicas{t: t, ns: newNamespace(t, c)}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) //nolint:gosec // need not be secret
	processes := []*exec.Cmd{r.start(), r.start(), r.start()}
	end := func(cmd *exec.Cmd, s os.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it may have been killed
	}
	for range 12 {
		eventually(t, "a replica leads", func(context.Context) error {
			if r.leader() == "" {
				return errors.New("none leads")
			}
			return nil
		})
		i := random.IntN(len(processes))
		switch random.IntN(3) {
		case 0:
			pause(t, processes[i], time.Duration(1+random.IntN(6))*time.Second)
		case 1:
			end(processes[i], os.Kill)
			processes[i] = r.start()
		case 2:
			end(processes[i], syscall.SIGTERM)
			processes[i] = r.start()
		}
	}
	for _, cmd := range processes {
		end(cmd, syscall.SIGTERM)
	}
	r.wg.Wait()
	slices.SortFunc(r.moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	seen, last := map[string]bool{}, ""
	for _, m := range r.moments {
		if m.term != last && seen[m.term] {
			t.Errorf("%s leads after %s has begun", m.term, last)
		}
		last, seen[m.term] = m.term, true
	}
	if len(seen) < 3 {
		t.Errorf("only %d terms: %v", len(seen), seen)
	}
	t.Logf("%d terms", len(seen))
}

// pause stops a process for a while.
func pause(t *testing.T, cmd *exec.Cmd, d time.Duration) {
	t.Helper()
	for _, s := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
		if s == syscall.SIGSTOP {
			<-time.After(d)
		}
	}
}

// TestAStandbyTakesOver checks that the second replica of a manager has synced caches, and begins soon after the first
// one has stopped; and that no object is reconciled by both at a time.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for i := range 100 {
		create(t, maps, fmt.Sprintf("cm-%d", i), "1")
	}
	var mu sync.Mutex // guards the fields below
	running, runs := map[string]string{}, map[string]int{}
	start := func(name string) (stop func() error) {
		view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
		ctl := kube.NewController(kube.ForView(view), nil)
		m := kube.NewManager(c, &kube.ManagerOptions{
			LeaderElection: "shop", Election: &kube.ElectionOptions{Namespace: ns, Identity: name},
		})
		m.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			mu.Lock()
			defer mu.Unlock()
			if other := running[cm.Name]; other != "" {
				t.Errorf("%s and %s reconcile %s", name, other, cm.Name)
			}
			running[cm.Name] = name
			mu.Unlock()
			<-time.After(time.Millisecond)
			mu.Lock()
			running[cm.Name] = ""
			runs[name]++
			return kube.AwaitChange(), nil
		}))
		return background(t, m.Run)
	}
	count := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return runs[name]
	}
	reconciled := func(name string) {
		t.Helper()
		eventually(t, name+" has reconciled all objects", func(context.Context) error {
			if n := count(name); n < 101 { // the namespace has one of its own
				return fmt.Errorf("%d objects", n)
			}
			return nil
		})
	}
	stopFirst := start("a")
	reconciled("a")
	start("b")
	<-time.After(3 * time.Second)
	if n := count("b"); n > 0 {
		t.Errorf("the standby has reconciled %d objects", n)
	}
	began := time.Now()
	if err := stopFirst(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
	reconciled("b")
	took := time.Since(began)
	if took > 10*time.Second { // less than the lease, which lasts 15 s
		t.Errorf("the second replica took over after %v", took)
	}
	t.Logf("the second replica has reconciled all objects %v after the stop of the first one", took)
	if n := count("a"); n != 101 {
		t.Errorf("%d runs of the first replica", n)
	}
}
