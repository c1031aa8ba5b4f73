// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// stuckEnv makes the program of the tests one with a run that never returns, in the namespace that it names.
const stuckEnv = "E2E_STUCK"

// seenAnnotation has the name of the controller that has reconciled a config map, and the value of the config map then.
const seenAnnotation = "seen-by"

// mark writes the annotation of a config map, unless it is up to date.
func mark(ctx context.Context, maps *kube.API[corev1.ConfigMap], cm *corev1.ConfigMap, by string) error {
	want := by + " " + cm.Data["v"]
	if cm.Annotations[seenAnnotation] == want {
		return nil
	}
	_, err := maps.Modify(ctx, cm.Name, func(cm *corev1.ConfigMap) error {
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[seenAnnotation] = want
		return nil
	}, nil)
	return err
}

// awaitMark waits until a config map has an annotation.
func awaitMark(t *testing.T, maps *kube.API[corev1.ConfigMap], name, want string) {
	t.Helper()
	_, err := kube.Await(limit(t), maps, name, func(cm *corev1.ConfigMap) error {
		if got := cm.Annotations[seenAnnotation]; got != want {
			return fmt.Errorf("the annotation is %q, want %q", got, want)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// ignoreContext returns when release is closed, whatever happens to the context of its run.
func ignoreContext(release <-chan struct{}) { <-release }

// labelled runs a function whose goroutines, and those that they start, have a label for [inController].
func labelled(label string, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		pprof.Do(ctx, pprof.Labels("test", label), func(ctx context.Context) { err = run(ctx) })
		return err
	}
}

// inController returns the number of goroutines with a label that execute functions of package controller.
func inController(label string) int {
	return goroutinesWith(label, "sdk/runtime/controller.")
}

// receive returns the result of a stop. It fails the test after three minutes.
func receive(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-limit(t).Done():
		t.Fatal("it has not ended three minutes after the stop")
		return nil
	}
}

// stubborn is a controller of config maps. The runs of the object "stuck" ignore their context until release is called.
// With the value "wait", those of "late" continue until the stop has begun, and those of "obedient" until their context
// ends. All other runs only write the annotation.
type stubborn struct {
	maps    *kube.API[corev1.ConfigMap]
	control *kube.Controller[corev1.ConfigMap]
	log     transcript
	begun   valuesSeen // by runs, when they began
	results valuesSeen // of runs
	release func()
	stuck   chan struct{} // closed by release
}

func newStubborn(t *testing.T, view *kube.View[corev1.ConfigMap], maps *kube.API[corev1.ConfigMap]) *stubborn {
	t.Helper()
	s := &stubborn{
		maps: maps, log: transcript{record: recorder.Writer("controllers with stuck runs")}, stuck: make(chan struct{}),
		begun: valuesSeen{values: map[string]string{}}, results: valuesSeen{values: map[string]string{}},
	}
	s.release = sync.OnceFunc(func() { close(s.stuck) })
	s.control = kube.NewController(kube.ForView(view), &kube.ControllerOptions{
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)), RunTimeout: 2 * time.Second, StopTimeout: 2 * time.Second,
		OnResult: func(r kube.Result) {
			result := "succeeded"
			if r.Err != nil {
				result = "failed"
			}
			s.results.set(r.Key.Ref.Name, result)
		},
	})
	return s
}

// run runs the controller. The stuck run returns before the test ends.
func (s *stubborn) run(t *testing.T) (result <-chan error, stop func()) {
	t.Helper()
	ended := make(chan error, 1)
	wait := background(t, labelled(t.Name(), func(ctx context.Context) error {
		return s.control.Run(ctx, func(run context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			return s.reconcile(run, ctx.Done(), cm)
		})
	}))
	t.Cleanup(s.release) // before the cleanup of background, which waits for Run
	return ended, func() { go func() { ended <- wait() }() }
}

func (s *stubborn) reconcile(ctx context.Context, stopping <-chan struct{}, cm *corev1.ConfigMap) (kube.Action, error) {
	s.begun.add(cm.Name, cm.Data["v"])
	waits := cm.Data["v"] == "wait"
	switch {
	case cm.Name == "kube-root-ca.crt":
		return kube.AwaitChange(), nil
	case cm.Name == "stuck":
		ignoreContext(s.stuck)
	case cm.Name == "late" && waits:
		<-stopping
		ctx = context.WithoutCancel(ctx) // a busy machine may need longer than the timeouts
	case cm.Name == "obedient" && waits:
		<-ctx.Done()
		return kube.AwaitChange(), context.Cause(ctx)
	}
	return kube.AwaitChange(), mark(ctx, s.maps, cm, "s")
}

// logged checks that the log has a record of the run of "stuck" with its stack for each reason, and no other record of
// a stuck run.
func (s *stubborn) logged(ns string, reasons ...string) error {
	var stuck []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `msg="run is stuck"`) {
			stuck = append(stuck, line)
		}
	}
	if len(stuck) != len(reasons) {
		return fmt.Errorf("the log has %d stuck runs, want %d:\n%s", len(stuck), len(reasons), s.log.String())
	}
	for i, reason := range reasons {
		for _, want := range []string{
			"level=ERROR", " object=" + ns + "/stuck ", fmt.Sprintf(" reason=%q", reason),
			` stack="goroutine `, "e2e_test.ignoreContext(",
		} {
			if !strings.Contains(stuck[i], want) {
				return fmt.Errorf("the log does not have %s in\n%s", want, stuck[i])
			}
		}
	}
	return nil
}

// The reasons for which a controller logs a run that is stuck.
const (
	afterRunTimeout = "it ignores the end of its context after Options.RunTimeout"
	afterTheStop    = "the controller has stopped"
)

// TestStopNamesOnlyTheStuckRun stops a controller with a run that ignores its context, while two others are active: one
// that finishes its work after the stop has begun, and one that returns when its context ends. The error names only the
// stuck run, and so does the log, before the stop and after it. The other objects are reconciled until the stop, and
// not after it.
func TestStopNamesOnlyTheStuckRun(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	others := []string{"healthy-0", "healthy-1", "healthy-2", "healthy-3", "late", "obedient"}
	for _, name := range append(others, "stuck") {
		create(t, maps, name, "1")
	}
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	s := newStubborn(t, view, maps)
	result, stop := s.run(t)
	observed := valuesSeen{values: map[string]string{}} // what another controller has received from the same view
	observer := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Name: "observer", Logger: debugLogger(t)})
	background(t, func(ctx context.Context) error {
		return observer.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			observed.set(cm.Name, cm.Data["v"])
			return kube.AwaitChange(), nil
		})
	})
	for _, value := range []string{"1", "2"} { // while the run is stuck
		for _, name := range others {
			setTo(t, maps, name, value)
		}
		for _, name := range others {
			awaitMark(t, maps, name, "s "+value)
		}
	}
	setTo(t, maps, "stuck", "2") // runs of one object do not overlap
	checkStuckRun(t, s, ns)

	for _, name := range []string{"late", "obedient"} {
		setTo(t, maps, name, "wait")
		eventually(t, "the run has begun", func(context.Context) error {
			if got := s.begun.of(name); !strings.HasSuffix(got, "wait") {
				return fmt.Errorf("the runs of %s saw %s", name, got)
			}
			return nil
		})
	}
	stop()
	err := receive(t, result)
	if text := fmt.Sprint(err); !errors.Is(err, errStopped) || !strings.Contains(text, "1 run has not returned") ||
		!strings.HasSuffix(text, ": "+ns+"/stuck") || strings.Count(text, ns+"/") != 1 {
		t.Errorf("Run = %v, want the cause of the stop and only the object whose run is stuck", err)
	}
	got := map[string]string{}
	for _, name := range []string{"late", "obedient", "stuck"} {
		got[name] = s.results.of(name)
	}
	// The controller has waited for the two others, one of which ended with its context.
	if diff := cmp.Diff(map[string]string{"late": "succeeded", "obedient": "failed", "stuck": ""}, got); diff != "" {
		t.Errorf("the results when Run has returned (-want +got):\n%s", diff)
	}
	if err := s.logged(ns, afterRunTimeout, afterTheStop); err != nil {
		t.Error(err)
	}
	for _, name := range others { // the last run of "obedient" ended before it wrote something
		awaitMark(t, maps, name, "s "+map[bool]string{true: "wait", false: "2"}[name == "late"])
	}
	s.checkStopped(t, maps, others, &observed)
	s.release()
	s.checkRestart(t, maps, append(others, "stuck"))
}

// checkStuckRun waits until the stuck run is reported, and checks its age.
func checkStuckRun(t *testing.T, s *stubborn, ns string) {
	t.Helper()
	key := kube.Key{Ref: core.ObjectRef{Namespace: ns, Name: "stuck"}}
	var last time.Duration
	eventually(t, "the stuck run is reported", func(context.Context) error {
		health, stats := s.control.Runs(), s.control.Metrics()
		if len(health) != 1 || health[0].Key != key || stats.OldestKey != key || stats.Applier.Running != 1 {
			return fmt.Errorf("the runs are %+v, and the statistics %+v", health, stats)
		}
		h := health[0]
		if h.Age <= last || stats.OldestRun < h.Age {
			t.Errorf("the age of the run is %v and then %v, after it was %v", h.Age, stats.OldestRun, last)
		}
		last = stats.OldestRun
		if h.Err == nil {
			return errors.New("the run is not reported yet")
		}
		if !errors.Is(h.Err, context.DeadlineExceeded) || !strings.Contains(h.Err.Error(), "the run of "+key.String()+" ") {
			t.Errorf("the error of the run is %v", h.Err)
		}
		return s.logged(ns, afterRunTimeout)
	})
	if got := s.begun.of("stuck"); got != "1" {
		t.Errorf("the runs of the stuck object saw %s", got)
	}
}

// checkStopped checks that nothing but the stuck run continues: the changes of all objects reach the view, but the
// controller does not run.
func (s *stubborn) checkStopped(t *testing.T, maps *kube.API[corev1.ConfigMap], others []string, observed *valuesSeen) {
	t.Helper()
	before := map[string]string{}
	for _, name := range append(others, "stuck") {
		before[name] = s.begun.of(name)
		setTo(t, maps, name, "3")
	}
	eventually(t, "another controller observes the changes", func(context.Context) error {
		for name := range before {
			if got := observed.of(name); got != "3" {
				return fmt.Errorf("it has observed the value %s of %s", got, name)
			}
		}
		return nil
	})
	eventually(t, "all other goroutines end", func(context.Context) error { // some may have signaled their end before
		if n := inController(t.Name()); n != 1 {
			return fmt.Errorf("%d goroutines execute functions of the controller, want one", n)
		}
		return nil
	})
	health, stats := s.control.Runs(), s.control.Metrics()
	if len(health) != 1 || health[0].Key.Ref.Name != "stuck" || stats.OldestRun < health[0].Age ||
		stats.Applier.Running != 1 {
		t.Errorf("after the stop, the runs are %+v, and the statistics %+v", health, stats)
	}
	err := s.control.Run(t.Context(), func(context.Context, *corev1.ConfigMap) (kube.Action, error) {
		t.Error("an object is reconciled while a run of the last Run is stuck")
		return kube.AwaitChange(), nil
	})
	if err == nil || !strings.Contains(err.Error(), "runs of the last Run have not returned yet") {
		t.Errorf("Run = %v while a run is stuck", err)
	}
	for name, want := range before {
		if got := s.begun.of(name); got != want {
			t.Errorf("the runs of %s saw %s after the stop, want %s", name, got, want)
		}
	}
}

// checkRestart checks that the stuck run ends without another run, and that the controller then runs again.
func (s *stubborn) checkRestart(t *testing.T, maps *kube.API[corev1.ConfigMap], all []string) {
	t.Helper()
	eventually(t, "the stuck run ends", func(context.Context) error {
		if n, stats := inController(t.Name()), s.control.Metrics(); n != 0 || stats.OldestRun != 0 {
			return fmt.Errorf("%d goroutines execute functions of the controller; its statistics are %+v", n, stats)
		}
		return nil
	})
	if got := s.begun.of("stuck"); got != "1" {
		t.Errorf("the runs of the stuck object saw %s", got)
	}
	s.run(t)
	for _, name := range all {
		awaitMark(t, maps, name, "s 3")
	}
}

// newShop returns a manager that elects a leader. It has no controllers yet.
func newShop(c *kube.Client, ns, identity string, o kube.ManagerOptions) *kube.Manager {
	o.LeaderElection, o.ElectionOptions = "shop", &kube.ElectionOptions{Namespace: ns, Identity: identity}
	return kube.NewManager(c, &o)
}

// addControllers adds controllers of one config map each: "of-left", "of-stuck" and "of-right". They write their
// identity into it. The runs of "stuck" ignore their context until release is closed. note is called when they begin,
// and when they end.
func addControllers(
	m *kube.Manager, c *kube.Client, ns, identity string, logger *slog.Logger, release <-chan struct{}, note func(string),
) {
	maps, cache := kube.Namespaced[corev1.ConfigMap](c, ns), kube.NewCache(c, &kube.CacheOptions{Logger: logger})
	for _, name := range []string{"left", "stuck", "right"} {
		view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, FieldSelector: "metadata.name=" + name})
		ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{
			Name: "of-" + name, Logger: logger, RunTimeout: time.Second, StopTimeout: time.Second,
		})
		m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			if name != "stuck" {
				return kube.AwaitChange(), mark(ctx, maps, cm, identity)
			}
			note(identity + " begins")
			ignoreContext(release)
			err := mark(context.WithoutCancel(ctx), maps, cm, identity)
			note(fmt.Sprint(identity, " ends: ", err))
			return kube.AwaitChange(), err
		}))
	}
}

// createShop creates the config maps of addControllers in a new namespace.
func createShop(t *testing.T, c *kube.Client) *kube.API[corev1.ConfigMap] {
	t.Helper()
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, name := range []string{"left", "stuck", "right"} {
		create(t, maps, name, "1")
	}
	return maps
}

// journal is lines in the order in which they were written.
type journal struct{ guarded[[]string] }

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.value = append(j.value, line)
}

// await waits until the journal begins with some lines.
func (j *journal) await(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the journal begins with %q", want), func(context.Context) error {
		got := j.get()
		if !slices.Equal(got[:min(len(got), len(want))], want) {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

// followLease records the holders of the lease of a shop, from now on. The journal has a line for each change.
func followLease(t *testing.T, c *kube.Client, ns string) *journal {
	t.Helper()
	holders := &journal{}
	background(t, func(ctx context.Context) error {
		last := "the lease does not exist"
		for ev, err := range kube.Watch(ctx, kube.Namespaced[coordinationv1.Lease](c, ns), nil) {
			if err != nil {
				return err
			}
			if ev.Type == kube.Bookmark || ev.Object.Spec.HolderIdentity == nil || *ev.Object.Spec.HolderIdentity == last {
				continue
			}
			last = *ev.Object.Spec.HolderIdentity
			holders.add(last)
		}
		return errors.New("the watch has ended without an error")
	})
	return holders
}

// TestStuckRunOfOneControllerKeepsTheLease stops a manager of three controllers, one of which has a run that ignores
// its context. The others end, and Run returns an error that names the controller and the object. While the run
// continues, it can still write: the lease is renewed, so that another replica begins only when the run has ended.
func TestStuckRunOfOneControllerKeepsTheLease(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := createShop(t, c)
	ns, holders, runs := maps.Namespace(), followLease(t, c, maps.Namespace()), &journal{}
	stuck, none := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(stuck) })
	close(none)

	addr := freeAddr(t)
	first := newShop(c, ns, "first", kube.ManagerOptions{HealthAddr: addr, Logger: debugLogger(t)})
	fenced := connect(t, &kube.ClientOptions{PerAttempt: []kube.Middleware{first.Fence()}})
	addControllers(first, fenced, ns, "first", debugLogger(t), stuck, runs.add)
	result := make(chan error, 1)
	stop := background(t, labelled(t.Name(), first.Run))
	t.Cleanup(release) // before the cleanup of background
	for _, name := range []string{"left", "right"} {
		awaitMark(t, maps, name, "first 1")
	}
	runs.await(t, "first begins")
	second := newShop(c, ns, "second", kube.ManagerOptions{Logger: debugLogger(t)})
	addControllers(second, c, ns, "second", debugLogger(t), none, runs.add)
	background(t, second.Run)

	eventually(t, "the endpoint reports the stuck run", func(ctx context.Context) error {
		_, err := getText(ctx, "http://"+addr+"/livez")
		if err == nil {
			return errors.New("it reports that everything is alive")
		}
		for _, want := range []string{"500 ", "[+]runs-of-left ok", "[-]runs-of-stuck failed", "[+]runs-of-right ok"} {
			if !strings.Contains(err.Error(), want) {
				return fmt.Errorf("the response is %w, want %s", err, want)
			}
		}
		return nil
	})
	setTo(t, maps, "left", "2")
	awaitMark(t, maps, "left", "first 2")

	go func() { result <- stop() }()
	err := receive(t, result)
	if text := fmt.Sprint(err); !errors.Is(err, errStopped) || !strings.Contains(text, "of-stuck: ") ||
		!strings.HasSuffix(text, ": "+ns+"/stuck") || strings.Count(text, ns+"/") != 1 ||
		strings.Contains(text, "of-left") || strings.Contains(text, "of-right") {
		t.Errorf("Run = %v, want the controller and the object whose run is stuck", err)
	}
	leases := kube.Namespaced[coordinationv1.Lease](c, ns)
	before, err := leases.Get(limit(t), "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"left", "right"} {
		setTo(t, maps, name, "3")
	}
	eventually(t, "the other controllers of the replica have ended", func(context.Context) error {
		if n := inController(t.Name()); n != 1 {
			return fmt.Errorf("%d goroutines execute functions of controllers, want that of the stuck run", n)
		}
		return nil
	})
	for range 3 {
		before, err = kube.Await(limit(t), leases, "shop", func(l *coordinationv1.Lease) error {
			if l.Spec.RenewTime == nil || !l.Spec.RenewTime.After(before.Spec.RenewTime.Time) {
				return errors.New("the lease is not renewed")
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !first.Leading() || second.Leading() {
		t.Errorf("the first replica leads: %v, the second: %v", first.Leading(), second.Leading())
	}
	for _, name := range []string{"left", "right"} {
		cm, err := maps.Get(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := cm.Annotations[seenAnnotation]; !strings.HasPrefix(got, "first ") || strings.HasSuffix(got, "3") {
			t.Errorf("%s is reconciled by %q after the stop", name, got)
		}
	}

	release()
	runs.await(t, "first begins", "first ends: <nil>", "second begins")
	for name, want := range map[string]string{"left": "second 3", "stuck": "second 1", "right": "second 3"} {
		awaitMark(t, maps, name, want)
	}
	holders.await(t, "first", "", "second")
}

// TestProgramWithAStuckRunEnds ends a program whose manager has a run that never returns. The program ends anyway, and
// prints the object. It does not release the lease: another replica begins when the lease has expired.
func TestProgramWithAStuckRunEnds(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := createShop(t, c)
	ns, holders := maps.Namespace(), followLease(t, c, maps.Namespace())
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), executable)
	log := &transcript{record: recorder.Writer("programs with stuck runs")}
	program.Env, program.Stderr = append(os.Environ(), stuckEnv+"="+ns), log
	if builtin != nil {
		program.Env = append(program.Env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for _, name := range []string{"left", "right"} {
		awaitMark(t, maps, name, "program 1")
	}
	eventually(t, "the run has begun", func(context.Context) error {
		if !strings.Contains(log.String(), "program begins") {
			return errors.New(log.String())
		}
		return nil
	})
	none := make(chan struct{})
	close(none)
	next := newShop(c, ns, "next", kube.ManagerOptions{Logger: debugLogger(t)})
	addControllers(next, c, ns, "next", debugLogger(t), none, func(string) {})
	background(t, next.Run)

	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ended); program.ProcessState.ExitCode() != 1 {
		t.Errorf("the program has ended with %v, want the code 1; its log:\n%s", err, log)
	}
	_, last, _ := strings.Cut(log.String(), "the last error: ")
	if !strings.Contains(last, "of-stuck: ") || !strings.Contains(last, ": "+ns+"/stuck\n") ||
		strings.Count(last, ns+"/") != 1 {
		t.Errorf("the program has not printed only the object whose run is stuck:\n%s", log)
	}
	for _, name := range []string{"left", "stuck", "right"} {
		awaitMark(t, maps, name, "next 1")
	}
	holders.await(t, "program", "next")
}

// runStuck is a program with a run that never returns. It ends after SIGTERM.
func runStuck(ns string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := kube.NewClient(ctx, nil)
	if err == nil {
		m := newShop(c, ns, "program", kube.ManagerOptions{})
		addControllers(m, c, ns, "program", nil, make(chan struct{}), func(line string) { fmt.Fprintln(os.Stderr, line) })
		err = m.Run(ctx)
	}
	fmt.Fprintln(os.Stderr, "the last error:", err)
	return 1
}
