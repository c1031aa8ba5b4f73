// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package keeper starts the program that kills a cluster's processes and removes its files after its owner has ended,
// even if the owner was killed. The owner holds a pipe to it; program/main.go documents the commands.
package keeper

import (
	"bytes"
	"context"
	"embed"
	"errors"
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

// Build builds the program, unless the cache has it, and returns its path.
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
	said *bytes.Buffer // standard error; complete when cmd.Wait has returned
}

// Start starts the program at path. The program continues after this process.
func Start(path string) (*Keeper, error) {
	cmd := exec.Command(path)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must survive a signal to the owner's process group
	said := new(bytes.Buffer)
	cmd.Stderr = said
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return &Keeper{pipe: pipe, cmd: cmd, said: said}, nil
}

// Mark makes the keeper kill every process that has this entry in its environment.
func (k *Keeper) Mark(entry string) error { return k.tell("mark", entry) }

// Group makes the keeper kill this process group, for systems where environments can't be read.
func (k *Keeper) Group(pgid int) error { return k.tell("group", strconv.Itoa(pgid)) }

// Run makes the keeper run this program, if it exists, after the processes are killed and before anything is removed.
// If it fails, nothing is removed.
func (k *Keeper) Run(path string) error { return k.tell("run", path) }

// Remove makes the keeper remove this directory at the end.
func (k *Keeper) Remove(dir string) error { return k.tell("remove", dir) }

// Release ends the keeper without touching the cluster.
func (k *Keeper) Release() error {
	if err := k.tell("release", ""); err != nil {
		return err
	}
	return k.wait()
}

// ErrKilled is the error of a keeper that a signal has ended.
var ErrKilled = errors.New("the keeper was killed")

// Close makes the keeper do its work now, as if this process had died, and waits until it is done. It returns an error
// if something of the cluster remains.
//
// Errors: [ErrKilled].
func (k *Keeper) Close() error { return k.wait() }

func (k *Keeper) wait() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.pipe.Close(); err != nil {
		return fmt.Errorf("end the keeper: %w", err)
	}
	err := k.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return fmt.Errorf("end the keeper: %w: %w", ErrKilled, err)
	}
	if err != nil {
		return fmt.Errorf("end the keeper: %w: %s", err, bytes.TrimSpace(k.said.Bytes()))
	}
	return nil
}

func (k *Keeper) tell(verb, argument string) error {
	if strings.ContainsAny(argument, "\r\n") {
		return fmt.Errorf("send %s %q to the keeper: it contains a line break", verb, argument)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := fmt.Fprintln(k.pipe, verb, argument); err != nil {
		return fmt.Errorf("send %s %s to the keeper: %w", verb, argument, err)
	}
	return nil
}
