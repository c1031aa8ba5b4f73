// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/keeper"
)

// kept starts a keeper with a directory, a marked process and a program to run.
func kept(t *testing.T) (k *keeper.Keeper, dir, ran string, ended <-chan error) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	k, dir, ended = keptWith(t, "#!/bin/sh\n: >"+ran+"\n")
	return k, dir, ran, ended
}

// keptWith is kept with another program to run.
func keptWith(t *testing.T, script string) (k *keeper.Keeper, dir string, ended <-chan error) {
	t.Helper()
	path, err := keeper.Build(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "kept")
	program := filepath.Join(dir, "last")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "100")
	cmd.Env = []string{"KEEPER_TEST=" + dir}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if k, err = keeper.Start(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.Mark(cmd.Env[0]), k.Group(cmd.Process.Pid), k.Run(program), k.Remove(dir)); err != nil {
		t.Fatal(err)
	}
	return k, dir, done
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestKeeperCleansUpWhenItsOwnerEnds(t *testing.T) {
	k, dir, ran, ended := kept(t)
	if err := k.Close(); err != nil { // as the system does for an owner that has died
		t.Fatal(err)
	}
	select {
	case <-ended: //nolint:errcheck // it was killed
	case <-time.After(5 * time.Second):
		t.Error("the marked process is still running")
	}
	if exists(dir) {
		t.Error("the directory still exists")
	}
	if !exists(ran) {
		t.Error("the last program did not run")
	}
}

func TestFailedProgramIsAnErrorAndKeepsTheDirectory(t *testing.T) {
	k, dir, _ := keptWith(t, "#!/bin/sh\necho a bridge is left >&2\nexit 1\n")
	err := k.Close()
	if err == nil {
		t.Fatal("Close succeeds")
	}
	for _, want := range []string{"run " + dir + "/last: exit status 1: a bridge is left", dir + " is not removed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Close = %q, want %q in it", err, want)
		}
	}
	if !exists(dir) {
		t.Error("the directory does not exist anymore")
	}
}

func TestMissingProgramIsNotRun(t *testing.T) {
	k, dir, _, _ := kept(t)
	if err := k.Run(filepath.Join(dir, "missing")); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func TestReleasedClusterIsNotCleanedUp(t *testing.T) {
	k, dir, ran, ended := kept(t)
	if err := k.Release(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Errorf("the marked process ended: %v", err)
	default:
	}
	if !exists(dir) || exists(ran) {
		t.Errorf("directory exists: %t, last program ran: %t; want true, false", exists(dir), exists(ran))
	}
}

func TestArgumentWithALineBreakIsAnError(t *testing.T) {
	k, _, _, _ := kept(t)
	if err := k.Remove("/tmp/a\nrelease"); err == nil {
		t.Error("Remove accepts a line break")
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}
