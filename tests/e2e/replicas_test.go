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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// replicaEnv makes the program of the tests a replica of a controller, in the namespace that it names. serverEnv is the
// URL of its server. divisionEnv is "election" or "sharding". With debugEnv it logs everything. Nothing but its client,
// which logs nothing by default, has a logger in its options.
const (
	replicaEnv  = "E2E_REPLICA"
	serverEnv   = "E2E_SERVER"
	divisionEnv = "E2E_DIVISION"
	debugEnv    = "E2E_DEBUG"
)

// runReplica is a program with a controller of config maps. Its runs print the times at which they would write.
func runReplica(ns string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := runReplicaUntil(ctx, ns)
	if ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runReplicaUntil(ctx context.Context, ns string) error {
	cfg, err := kube.LoadConfig(ctx, nil)
	if err != nil {
		return err
	}
	server, err := url.Parse(cfg.Server)
	if err != nil {
		return err
	}
	cfg.TLSServerName, cfg.Server = cmp.Or(cfg.TLSServerName, server.Hostname()), os.Getenv(serverEnv)
	var log *slog.Logger
	if os.Getenv(debugEnv) != "" {
		log = programLogger()
		slog.SetDefault(log)
	}
	c, err := kube.NewClient(ctx, &kube.ClientOptions{Config: cfg, Logger: log})
	if err != nil {
		return err
	}
	o := &kube.ManagerOptions{}
	const duration, deadline, period = 4 * time.Second, 2 * time.Second, 500 * time.Millisecond
	if os.Getenv(divisionEnv) == "sharding" {
		o.Sharding = "shop"
		o.ShardingOptions = &kube.ShardingOptions{
			Namespace: ns, LeaseDuration: duration, RenewDeadline: deadline, RetryPeriod: period,
		}
	} else {
		o.LeaderElection = "shop"
		o.ElectionOptions = &kube.ElectionOptions{
			Namespace: ns, LeaseDuration: duration, RenewDeadline: deadline, RetryPeriod: period,
		}
	}
	m := kube.NewManager(c, o)
	if o.ElectionOptions != nil {
		m.Add(&leader{manager: m})
	}
	cache := kube.NewCache(c, nil)
	view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns})
	ctl := kube.NewController(kube.ForView(view), nil)
	var runs atomic.Int64
	m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		id := fmt.Sprintf("%d-%d", os.Getpid(), runs.Add(1))
		for range 6 {
			say(ctx, m, "runs", cm.Name, id)
			<-time.After(15 * time.Millisecond)
		}
		if !say(ctx, m, "done", cm.Name, id+"-"+cm.Data["v"]) {
			return kube.AwaitChange(), errors.New("the term is over, or the process was too slow to know")
		}
		return kube.RequeueAfter(time.Second), nil // something runs all the time
	}))
	return m.Run(ctx)
}

// leader is a Runnable that says that its replica leads.
type leader struct {
	manager *kube.Manager
	terms   int
}

func (l *leader) Run(ctx context.Context) error {
	l.terms++
	for ctx.Err() == nil {
		say(ctx, l.manager, "runs", "lease", fmt.Sprintf("%d-%d", os.Getpid(), l.terms))
		<-time.After(3 * time.Millisecond)
	}
	return context.Cause(ctx)
}

// say prints something that a run does, and when, unless its context has ended, or is about to. It reports whether it
// did.
func say(ctx context.Context, m *kube.Manager, what, name, id string) bool {
	before := time.Now()
	if !m.Leading() || ctx.Err() != nil || time.Since(before) >= time.Millisecond {
		return false
	}
	fmt.Fprintln(os.Stdout, what, name, id, before.UnixMicro())
	return true
}

// moment is a time at which a run, or a term, is active.
type moment struct {
	at int64  // microseconds since 1970
	id string // of the run
}

// replicas are processes that reconcile config maps.
type replicas struct {
	t          *testing.T
	division   string
	config     *kube.Config // of the cluster
	kubeconfig string       // its file; empty is that of the environment
	debug      bool         // the processes log everything

	ns        string
	maps      *kube.API[corev1.ConfigMap]
	want      map[string]string // the values of the objects
	random    *rand.Rand
	processes []*replicaProcess
	wg        sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	moments map[string][]moment
	done    map[string]string // the last value of each object with which a run has ended
}

// replicaProcess is one of them. Its connections pass through a forwarder.
type replicaProcess struct {
	*exec.Cmd
	link *link
	log  *transcript
	read chan struct{} // closed when its whole output has been read
}

// startAll creates the objects and starts the processes.
func (r *replicas) startAll(c *kube.Client) {
	r.t.Helper()
	r.ns = newNamespace(r.t, c)
	r.maps, r.want = kube.Namespaced[corev1.ConfigMap](c, r.ns), map[string]string{}
	r.moments, r.done = map[string][]moment{}, map[string]string{}
	r.random = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) //nolint:gosec // need not be secret
	for i := range 40 {
		name := fmt.Sprint("cm-", i)
		create(r.t, r.maps, name, "0")
		r.want[name] = "0"
	}
	r.processes = []*replicaProcess{r.start(), r.start(), r.start()}
	r.reconciled()
}

func (r *replicas) start() *replicaProcess {
	r.t.Helper()
	program, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	one := &replicaProcess{
		exec.Command(program), //nolint:noctx // the test ends it
		newLink(r.t, r.config.Server), &transcript{record: recorder.Writer("replicas")}, make(chan struct{}),
	}
	one.Env = append(os.Environ(), replicaEnv+"="+r.ns, serverEnv+"=https://"+one.link.addr, divisionEnv+"="+r.division)
	if r.kubeconfig != "" {
		one.Env = append(one.Env, "KUBECONFIG="+r.kubeconfig)
	}
	if r.debug {
		one.Env = append(one.Env, debugEnv+"=1")
	}
	one.Stderr = one.log
	out, err := one.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := one.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			_ = one.Process.Kill() // the test may have ended before it has ended the process
			r.t.Logf("the log of process %d:\n%s", one.Process.Pid, one.log.String())
		}
	})
	r.wg.Go(func() {
		defer close(one.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			r.note(lines.Text())
		}
	})
	return one
}

// note takes note of a line of a process.
func (r *replicas) note(line string) {
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
func (r *replicas) end(one *replicaProcess, s os.Signal) {
	r.t.Helper()
	if err := one.Process.Signal(s); err != nil {
		r.t.Error(err)
	}
	<-one.read     // before Wait, which closes the pipe and would cut the last line
	_ = one.Wait() // it may have been killed
}

// replace ends a process with a signal, and starts another one.
func (r *replicas) replace(i int, s os.Signal) {
	r.t.Helper()
	r.end(r.processes[i], s)
	r.processes[i] = r.start()
}

// change changes some of the objects.
func (r *replicas) change(value string) {
	r.t.Helper()
	for range 20 {
		name := fmt.Sprint("cm-", r.random.IntN(len(r.want)))
		r.want[name] += value
		if _, err := r.maps.Patch(limit(r.t), name, setValue(r.want[name]), nil); err != nil {
			r.t.Fatal(err)
		}
	}
}

// reconciled waits until the newest values of all objects have been reconciled.
func (r *replicas) reconciled() {
	r.t.Helper()
	eventually(r.t, "all objects are reconciled", func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, value := range r.want {
			if r.done[name] != value {
				return fmt.Errorf("%s was reconciled with %q, want %q", name, r.done[name], value)
			}
		}
		return nil
	})
}

// endAll ends all processes, and checks what they have done.
func (r *replicas) endAll() {
	r.t.Helper()
	for _, one := range r.processes {
		r.end(one, syscall.SIGTERM)
	}
	r.wg.Wait()
	r.check()
}

// divisions are the ways in which replicas divide their work.
var divisions = []string{"election", "sharding"}

// TestObjectsOfReplicasHaveOneRunAtATime pauses, kills, ends and disconnects processes that reconcile objects, with
// leader election and with sharding. No object has two runs at a time, no two terms of leaders overlap, and each change
// is reconciled.
func TestObjectsOfReplicasHaveOneRunAtATime(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	for _, division := range divisions {
		t.Run(division, func(t *testing.T) {
			t.Parallel()
			r := &replicas{t: t, division: division, config: loadConfig(t, ""), debug: true}
			if builtin != nil {
				r.kubeconfig = builtin.Kubeconfig()
			}
			r.startAll(c)
			r.survive()
			r.endAll()
		})
	}
}

// survive breaks the processes, one after the other.
func (r *replicas) survive() {
	r.t.Helper()
	faults := r.random.Perm(4)
	for round := range 8 {
		i := r.random.IntN(len(r.processes))
		if l := r.leader(); round < 4 && l >= 0 {
			i = l
		}
		one := r.processes[i]
		var healed sync.WaitGroup
		switch span := time.Duration(1000+r.random.IntN(4000)) * time.Millisecond; faults[round%4] {
		case 0:
			healed.Go(func() { pause(r.t, one.Cmd, span) })
		case 1:
			one.link.cut.Lock()
			healed.Go(func() { <-time.After(span); one.link.cut.Unlock() })
		case 2:
			r.replace(i, os.Kill)
		case 3:
			r.replace(i, syscall.SIGTERM)
		}
		r.change(fmt.Sprint(round))
		r.reconciled()
		healed.Wait()
	}
}

// TestReplicasSurviveRestartsOfTheServer stops, kills and pauses the API server while processes reconcile objects, with
// leader election and with sharding, and while one of the processes is replaced. No object has two runs at a time, no
// two terms of leaders overlap, and the processes continue when the server does. They log the outage, with the loggers
// that programs have by default.
func TestReplicasSurviveRestartsOfTheServer(t *testing.T) {
	t.Parallel()
	s := newFaultyCluster(t)
	c := connect(t, &kube.ClientOptions{Config: s.config})
	var fleets []*replicas
	for _, division := range divisions {
		r := &replicas{t: t, division: division, config: s.config, kubeconfig: s.cluster.Kubeconfig()}
		r.startAll(c)
		fleets = append(fleets, r)
	}
	server := s.cluster.Component(cluster.APIServer)
	const long = 6 * time.Second // longer than the duration of the leases
	for round, fault := range []func(){
		func() { s.restart(t, false) },
		func() { s.suspend(t, time.Second) },
		func() {
			if err := server.Stop(limit(t)); err != nil {
				t.Fatal(err)
			}
			<-time.After(long / 2)
			for _, r := range fleets {
				r.replace(max(0, r.leader()), os.Kill)
			}
			<-time.After(long / 2)
			for _, r := range fleets { // the new processes may start slowly
				eventually(t, "the processes log the outage", func(context.Context) error { return r.logged() })
			}
			if err := server.Start(limit(t)); err != nil {
				t.Fatal(err)
			}
		},
		func() { s.suspend(t, long) },
	} {
		for _, r := range fleets {
			r.change(fmt.Sprint(round))
		}
		fault()
		for _, r := range fleets {
			r.change("-")
			r.reconciled()
		}
	}
	for _, r := range fleets {
		r.endAll()
	}
}

// logged returns an error unless each process has logged that requests have failed. One that was started meanwhile does
// not request the lease yet.
func (r *replicas) logged() error {
	const waits = " INFO this replica takes no work yet"
	failed := map[string]string{
		"election": " WARN a request for the lease has failed lease=",
		"sharding": " WARN a request for the shards has failed shards=",
	}[r.division]
	for _, one := range r.processes {
		text := one.log.String()
		if want := " WARN watch error resource="; !strings.Contains(text, want) {
			return fmt.Errorf("process %d has not logged %q", one.Process.Pid, want)
		}
		if !strings.Contains(text, failed) && !strings.Contains(text, waits) {
			return fmt.Errorf("process %d has logged neither %q nor %q", one.Process.Pid, failed, waits)
		}
	}
	return nil
}

// leader returns the index of the process that has led last, or a negative number.
func (r *replicas) leader() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last moment
	for _, m := range r.moments["lease"] {
		if m.at > last.at {
			last = m
		}
	}
	var pid int
	_, _ = fmt.Sscanf(last.id, "%d-", &pid) // 0 without a leader
	return slices.IndexFunc(r.processes, func(p *replicaProcess) bool { return p.Process.Pid == pid })
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

// check checks that the runs of each object do not overlap.
func (r *replicas) check() {
	r.t.Helper()
	runs := 0
	for name, moments := range r.moments {
		slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
		seen, last := map[string]bool{}, ""
		for _, m := range moments {
			if m.id != last && seen[m.id] {
				r.t.Errorf("%s: the run %s continues after the run %s has begun", name, m.id, last)
			}
			last, seen[m.id] = m.id, true
		}
		runs += len(seen)
		if name == "lease" {
			r.t.Logf("%d terms", len(seen))
			if len(seen) < 3 { // the first leader, and the successors of those that were killed and ended
				r.t.Errorf("only %d terms: %v", len(seen), seen)
			}
		}
	}
	r.t.Logf("%d runs", runs)
}

// link is a forwarder to the API server that nothing passes while cut is locked.
type link struct {
	addr string
	cut  sync.RWMutex
}

func newLink(t *testing.T, address string) *link {
	t.Helper()
	server, err := url.Parse(address)
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
