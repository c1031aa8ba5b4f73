// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// script returns a spec that runs a shell script. The script creates the file $1 when it is ready.
func script(t *testing.T, text string) process.Spec {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "ready")
	return process.Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", text, "sh", file},
		Env: []string{"PROCESS_TEST=" + dir}, Dir: dir, LogFile: filepath.Join(dir, "log"),
		Ready: func(context.Context) error { _, err := os.Stat(file); return err },
	}
}

func start(t *testing.T, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestProcessIsReadyWhenItsCheckSucceeds(t *testing.T) {
	p := start(t, script(t, `echo hello; sleep 0.1; : >"$1"; exec sleep 100`))
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !p.Running() {
		t.Error("Running() = false")
	}
	if text, err := os.ReadFile(p.LogFile()); err != nil || string(text) != "hello\n" {
		t.Errorf("log = %q, %v; want hello", text, err)
	}
}

func TestReadyReportsWhyAProcessEnded(t *testing.T) {
	p := start(t, script(t, `echo starting; echo 'Error: unknown flag: --foo'; exit 3`))
	err := p.Ready(t.Context())
	if err == nil {
		t.Fatal("Ready succeeds")
	}
	for _, want := range []string{"script ended with exit status 3", "unknown flag: --foo"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Ready = %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "starting") {
		t.Errorf("Ready = %q, with an irrelevant line", err)
	}
}

func TestReadyEndsWithTheContextAndReportsTheLastCheck(t *testing.T) {
	p := start(t, script(t, `echo busy; exec sleep 100`))
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(p.LogFile()); err == nil && len(text) > 0 { // the program may start slowly
			break
		}
	}
	cause := errors.New("out of patience")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
	defer cancel()
	err := p.Ready(ctx)
	if !errors.Is(err, cause) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "busy") {
		t.Errorf("Ready = %v; want the cause, the check's error and the log", err)
	}
}

func TestReadyReportsTheLastErrorFromBeforeTheContextEnds(t *testing.T) {
	spec := script(t, `exec sleep 100`)
	broken := errors.New("the image is broken")
	ctx, cancel := context.WithCancel(t.Context())
	checks := 0
	spec.Ready = func(ctx context.Context) error {
		if checks++; checks == 1 {
			return broken
		}
		cancel() // while a check is running, such as an import
		return context.Cause(ctx)
	}
	if err := start(t, spec).Ready(ctx); !errors.Is(err, broken) || !errors.Is(err, context.Canceled) {
		t.Errorf("Ready = %v; want the last error of a check, and the context's", err)
	}
}

func TestStopSendsSIGTERMFirst(t *testing.T) {
	p := start(t, script(t, `trap 'echo asked; exit 0' TERM; : >"$1"; while :; do sleep 0.01; done`))
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Pause(); err != nil { // a paused process must be able to stop, too
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("Wait after Stop = %v, want nil", err)
	}
	if text, err := os.ReadFile(p.LogFile()); err != nil || string(text) != "asked\n" {
		t.Errorf("log = %q, %v; want asked", text, err)
	}
}

func TestStopKillsAProgramThatIgnoresSIGTERM(t *testing.T) {
	spec := script(t, `trap '' TERM; : >"$1"; while :; do sleep 0.01; done`)
	spec.StopTimeout = 50 * time.Millisecond
	p := start(t, spec)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("Running() = true after Stop")
	}
}

func TestKillEndsChildrenToo(t *testing.T) {
	spec := script(t, `sleep 100 & echo $! >"$1.new"; mv "$1.new" "$1"; wait`)
	p := start(t, spec)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	var child int
	text, err := os.ReadFile(spec.Args[3])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	orphan := process.Adopt(process.Spec{Name: "child", Env: spec.Env}, child)
	select {
	case <-orphan.Done():
	case <-time.After(5 * time.Second):
		t.Error("the child is still running")
	}
}

func TestRestartBeginsANewRun(t *testing.T) {
	p := start(t, script(t, `echo "Error: in run $$"; : >"$1"; exec sleep 100`))
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, done := p.PID(), p.Done()
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done // the first run's
	if p.PID() == first || !p.Running() {
		t.Errorf("PID = %d, Running = %t; want another process than %d, running", p.PID(), p.Running(), first)
	}
	deadline := time.Now().Add(5 * time.Second)
	for len(p.TellingLines(5)) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	want := fmt.Sprintf("Error: in run %d", p.PID())
	if got := p.TellingLines(5); len(got) != 1 || got[0] != want {
		t.Errorf("TellingLines = %q, want only this run's: %q", got, want)
	}
}

func TestClosedProcessIsNotStartedAgain(t *testing.T) {
	for range 20 {
		p := start(t, script(t, `: >"$1"; exec sleep 1000`))
		result := make(chan error, 1)
		go func() { result <- p.Restart(t.Context()) }()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		<-result //nolint:errcheck // it depends on which is first
		if p.Running() {
			t.Fatal("it runs after Close and a concurrent Restart")
		}
		if err := p.Restart(t.Context()); err == nil || err.Error() != "start script: the cluster is stopped" {
			t.Fatalf("Restart after Close = %v", err)
		}
	}
}

func TestAwaitEndsWithTheRunThatItBeganWith(t *testing.T) {
	p := start(t, script(t, `: >"$1"; exec sleep 1000`))
	checking, fail := make(chan struct{}), make(chan struct{})
	var once sync.Once
	result := make(chan error, 1)
	go func() {
		result <- p.Await(t.Context(), func(context.Context) error {
			once.Do(func() { close(checking) })
			<-fail
			return errors.New("not yet")
		})
	}()
	<-checking
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(fail)
	select {
	case err := <-result:
		if want := "script was stopped before it was ready"; err == nil || err.Error() != want {
			t.Errorf("Await = %v, want %s", err, want)
		}
	case <-time.After(time.Minute):
		t.Error("Await does not return after its run has ended")
	}
}

func TestPausedProcessDoesNothingUntilItIsResumed(t *testing.T) {
	p := start(t, script(t, `: >"$1"; while :; do echo tick; sleep 0.01; done`))
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(p.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // for writes that had already begun
	before := size()
	time.Sleep(100 * time.Millisecond)
	if after := size(); after != before {
		t.Errorf("the log grew from %d to %d while paused", before, after)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); size() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the log does not grow after Resume")
		}
	}
}

func TestAdoptFollowsAProcessThatIsStillTheSame(t *testing.T) {
	spec := script(t, `: >"$1"; exec sleep 100`)
	p := start(t, spec)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	adopted := process.Adopt(spec, p.PID())
	if !adopted.Running() {
		t.Fatal("the adopted process is not running")
	}
	other := spec
	other.Env = []string{"PROCESS_TEST=other"}
	if process.Adopt(other, p.PID()).Running() {
		t.Error("a process with another environment was adopted")
	}
	if err := adopted.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if process.Adopt(spec, p.PID()).Running() {
		t.Error("an ended process was adopted as running")
	}
}

func TestProgramDoesNotGetUnsetVariables(t *testing.T) {
	t.Setenv("ETCD_NAME", "foreign")
	t.Setenv("ETCDCTL_API", "3")
	spec := script(t, `echo "${ETCD_NAME-unset} $ETCDCTL_API"`)
	spec.Unset = "ETCD_"
	p := start(t, spec)
	<-p.Done()
	if text, err := os.ReadFile(p.LogFile()); err != nil || string(text) != "unset 3\n" {
		t.Errorf("log = %q, %v; want unset 3", text, err)
	}
}

func TestAdoptStartsNoGoroutine(t *testing.T) {
	spec := script(t, `: >"$1"; exec sleep 100`)
	p := start(t, spec)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for range 50 {
		if !process.Adopt(spec, p.PID()).Running() {
			t.Fatal("the adopted process is not running")
		}
	}
	if after := runtime.NumGoroutine(); after >= before+50 {
		t.Errorf("%d goroutines became %d", before, after)
	}
}

func TestStartFailsForAMissingProgram(t *testing.T) {
	spec := script(t, "")
	spec.Path = "/does/not/exist"
	if _, err := process.Start(t.Context(), spec); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v, want %v", err, os.ErrNotExist)
	}
}
