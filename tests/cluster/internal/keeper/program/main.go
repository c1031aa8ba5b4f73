// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command keeper cleans up after a cluster whose owner has ended. It reads commands, one per line, from its standard
// input, which the owner holds open. When the input ends, the keeper kills every process of the cluster and removes its
// files. The commands:
//
//	group PGID   kill this process group
//	mark ENTRY   kill every process with this entry in its environment (where there is /proc)
//	run PATH     run this program when all are killed, before anything is removed
//	remove DIR   remove this directory
//	release      forget everything and end: the cluster may outlive its owner
//
// It uses only the standard library, and is built from this one file.
package main

import (
	"bufio"
	"bytes"
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
	if !released {
		kept.end()
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

// end ignores all errors: there is no one to report them to.
func (c cluster) end() {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		for _, pgid := range c.groups {
			_ = syscall.Kill(-pgid, syscall.SIGKILL)
		}
	}
	// A dying process may have started another one: repeat until there are none.
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		pids := marked(c.marks)
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, path := range c.runs {
		_ = exec.Command(path).Run()
	}
	for _, dir := range c.dirs {
		remove(dir)
	}
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
func remove(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
