// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/tests/cluster/internal/keeper"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// sleeper starts a program that can be a component.
func sleeper(t *testing.T, dir, name string) *process.Process {
	t.Helper()
	p, err := process.Start(t.Context(), process.Spec{
		Name: name, Path: "/bin/sleep", Args: []string{"1000"}, Env: []string{"KUBECLUSTER_DIR=" + dir},
		LogFile: filepath.Join(dir, name+".log"),
	})
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

// reopen returns another handle of the cluster in dir, with its processes.
func reopen(t *testing.T, dir string) *Cluster {
	t.Helper()
	kept, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{layout: kept.Layout}
	for _, component := range kept.Components {
		p := process.Adopt(component.Spec, component.PID)
		t.Cleanup(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
		c.add(p)
	}
	return c
}

func TestHandlesOfAClusterKeepTheRestartsOfEachOther(t *testing.T) {
	dir := t.TempDir()
	first := &Cluster{layout: layout{Dir: dir}}
	for _, name := range []string{Scheduler, ControllerManager} {
		p := sleeper(t, dir, name)
		first.add(p)
		if err := first.record(p); err != nil {
			t.Fatal(err)
		}
	}
	a, b := reopen(t, dir), reopen(t, dir)
	if err := a.Component(Scheduler).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Component(ControllerManager).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, dir)
	for name, restarted := range map[string]*Cluster{Scheduler: a, ControllerManager: b} {
		got, want := again.Component(name), restarted.Component(name).PID()
		if got.PID() != want || !got.Running() {
			t.Errorf("%s is process %d, running: %t; want %d, running", name, got.PID(), got.Running(), want)
		}
	}
	if names := again.Components(); names[0].Name() != Scheduler || len(names) != 2 {
		t.Errorf("components = %v, want the order in which they started", names)
	}
}

func TestStateSaysWhetherTheStartIsComplete(t *testing.T) {
	dir := t.TempDir()
	c := &Cluster{layout: layout{Dir: dir}}
	if err := c.record(sleeper(t, dir, Etcd)); err != nil {
		t.Fatal(err)
	}
	if kept, err := readState(dir); err != nil || !kept.Starting {
		t.Errorf("while it starts, starting = %t, %v; want true", kept.Starting, err)
	}
	if err := c.saveStarted(); err != nil {
		t.Fatal(err)
	}
	if err := c.record(sleeper(t, dir, Etcd)); err != nil { // a restart
		t.Fatal(err)
	}
	if kept, err := readState(dir); err != nil || kept.Starting || len(kept.Components) != 1 {
		t.Errorf("after the start, starting = %t, %d components, %v; want false, 1", kept.Starting, len(kept.Components), err)
	}
}

// keeperProgram returns the path of the built keeper.
func keeperProgram(t *testing.T) string {
	t.Helper()
	cache, err := DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program, err := keeper.Build(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestStopEndsTheClusterAfterItsKeeperWasKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("the keeper finds processes only in /proc")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "keeper")
	if err := os.WriteFile(killed, []byte("#!/bin/sh\nkill -KILL $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{layout: layout{Dir: dir, Temporary: true, Keeper: keeperProgram(t)}}
	var err error
	if c.keeper, err = keeper.Start(killed); err != nil {
		t.Fatal(err)
	}
	p := sleeper(t, dir, Etcd) // not a component, as are the processes of pods
	if err := c.end(); err != nil {
		t.Errorf("Stop = %v", err)
	}
	<-p.Done()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory remains: %v", err)
	}
}

func TestStoppedClusterDoesNotStartItsComponents(t *testing.T) {
	dir := t.TempDir()
	c := &Cluster{layout: layout{Dir: dir, Keeper: keeperProgram(t)}}
	p := sleeper(t, dir, Etcd)
	c.add(p)
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if err := c.Component(Etcd).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "the cluster is stopped") {
		t.Errorf("Start after Stop = %v, want an error", err)
	}
	if p.Running() {
		t.Error("it is running")
	}
}

func TestFailedRestartDoesNotRecordAnOldProcess(t *testing.T) {
	dir := t.TempDir()
	first := &Cluster{layout: layout{Dir: dir}}
	p := sleeper(t, dir, Scheduler)
	first.add(p)
	if err := first.record(p); err != nil {
		t.Fatal(err)
	}
	a, b := reopen(t, dir), reopen(t, dir)
	if err := a.Component(Scheduler).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Component(Scheduler).Restart(ctx); err == nil {
		t.Error("Restart with an ended context succeeds")
	}
	if got, want := reopen(t, dir).Component(Scheduler).PID(), a.Component(Scheduler).PID(); got != want {
		t.Errorf("the scheduler is process %d, want %d", got, want)
	}
}
