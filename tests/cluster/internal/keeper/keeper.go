// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package keeper starts the program that kills a cluster's processes and removes its files once its owner is gone,
// even if the owner was killed. The owner holds a pipe to it; see program/main.go for what travels through it.
package keeper

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

//go:embed program/main.go program/go.mod.txt
var program embed.FS

// Build builds the program, unless it is in the cache, and returns its path.
func Build(ctx context.Context, cacheDir string, progress func(string)) (string, error) {
	sources, err := fs.Sub(program, "program")
	if err != nil {
		return "", err
	}
	dir, err := build.GoBuild(ctx, build.Target{Name: "keeper", Title: "the keeper", Sources: sources}, cacheDir, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "keeper"), nil
}

// Keeper is a running keeper program. It is safe for concurrent use.
type Keeper struct {
	mu   sync.Mutex // guards pipe
	pipe io.WriteCloser
	cmd  *exec.Cmd
}

// Start starts the program at path. It outlives this process.
func Start(path string) (*Keeper, error) {
	cmd := exec.Command(path)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what kills the owner's group must not reach it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return &Keeper{pipe: pipe, cmd: cmd}, nil
}

// Mark has every process killed that has this entry in its environment.
func (k *Keeper) Mark(entry string) error { return k.tell("mark", entry) }

// Group has this process group killed where environments cannot be read.
func (k *Keeper) Group(pgid int) error { return k.tell("group", strconv.Itoa(pgid)) }

// Run has this program run when the processes are killed, before anything is removed.
func (k *Keeper) Run(path string) error { return k.tell("run", path) }

// Remove has this directory removed, when all else is done.
func (k *Keeper) Remove(dir string) error { return k.tell("remove", dir) }

// Release ends the keeper without touching the cluster.
func (k *Keeper) Release() error {
	if err := k.tell("release", ""); err != nil {
		return err
	}
	return k.wait()
}

// Close does now what the keeper would do if this process died, and waits until it is done.
func (k *Keeper) Close() error { return k.wait() }

func (k *Keeper) wait() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.pipe.Close(); err != nil {
		return fmt.Errorf("end the keeper: %w", err)
	}
	if err := k.cmd.Wait(); err != nil {
		return fmt.Errorf("end the keeper: %w", err)
	}
	return nil
}

func (k *Keeper) tell(verb, argument string) error {
	if strings.ContainsAny(argument, "\r\n") {
		return fmt.Errorf("tell the keeper %s %q: a line break", verb, argument)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := fmt.Fprintln(k.pipe, verb, argument); err != nil {
		return fmt.Errorf("tell the keeper %s %s: %w", verb, argument, err)
	}
	return nil
}
