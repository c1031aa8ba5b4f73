// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command keeper cleans up after a cluster whose owner has ended. It reads commands, one per line, from its standard
// input, which the owner holds open. When the input ends, the keeper kills every process of the cluster and removes its
// files. The commands:
//
//	group PGID   kill this process group
//	mark ENTRY   kill every process with this entry in its environment (where there is /proc)
//	run PATH     run this program, if it exists, when all are killed, before anything is removed
//	remove DIR   remove this directory, unless a process or a program has failed: the reason may be in it
//	release      forget everything and end: the cluster may outlive its owner
//
// Its exit code is 1 if something failed. The errors are on its standard error.
//
// It uses only the standard library, and is built from this one file.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	kept, released := read(os.Stdin)
	if released {
		return
	}
	// This is the only output: if the owner was killed, writing to the closed pipe ends this program.
	if err := kept.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cluster is the result of the commands.
type cluster struct {
	groups []int
	marks  []string
	runs   []string
	dirs   []string
}

// read reads the owner's commands until the owner ends or releases the cluster.
func read(in io.Reader) (kept cluster, released bool) {
	for scanner := bufio.NewScanner(in); scanner.Scan(); {
		verb, argument, _ := strings.Cut(scanner.Text(), " ")
		switch verb {
		case "group":
			if pgid, err := strconv.Atoi(argument); err == nil && pgid > 1 {
				kept.groups = append(kept.groups, pgid)
			}
		case "mark":
			kept.marks = append(kept.marks, argument)
		case "run":
			kept.runs = append(kept.runs, argument)
		case "remove":
			kept.dirs = append(kept.dirs, argument)
		case "release":
			return cluster{}, true
		}
	}
	return kept, false
}

// killTimeout is the time in which the processes must end.
const killTimeout = 5 * time.Second

func (c cluster) end() error {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		for _, pgid := range c.groups {
			_ = syscall.Kill(-pgid, syscall.SIGKILL)
		}
	}
	errs := []error{kill(c.marks)}
	for _, path := range c.runs {
		errs = append(errs, run(path))
	}
	failed := errors.Join(errs...) != nil
	for _, dir := range c.dirs {
		if failed {
			errs = append(errs, fmt.Errorf("%s is not removed", dir))
			continue
		}
		errs = append(errs, remove(dir))
	}
	return errors.Join(errs...)
}

// kill kills the processes that have one of the entries in their environment.
func kill(entries []string) error {
	// A dying process may have started another one: repeat until none is left.
	for deadline := time.Now().Add(killTimeout); ; time.Sleep(10 * time.Millisecond) {
		pids := marked(entries)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the processes %v are still running %v after SIGKILL", pids, killTimeout)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // if this fails, the process remains
		}
	}
}

// run runs the program. A cluster that failed early does not have it yet.
func run(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", path, err, bytes.TrimSpace(out))
	}
	return nil
}

// marked returns the running processes that have one of the entries in their environment.
func marked(entries []string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file) // empty for a zombie
		if err != nil {
			continue
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if slices.Contains(entries, string(entry)) {
				if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// remove retries for a while: killed processes may not have ended yet.
func remove(dir string) (err error) {
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
