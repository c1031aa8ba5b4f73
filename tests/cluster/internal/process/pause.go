// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Limits of the wait until the threads of a program are stopped.
const (
	pauseTimeout = 10 * time.Second
	pausePoll    = time.Millisecond
)

// Pause suspends the program's process group with SIGSTOP: connections stay open, but it does not respond. Pause
// returns when every thread of the program is stopped, which is shortly after the signal. Without /proc, it returns
// immediately.
func (p *Process) Pause() error {
	r := p.current()
	if err := p.signal(r, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(pauseTimeout); ; time.Sleep(pausePoll) {
		switch still, err := standsStill(r.pid); {
		case err != nil:
			return fmt.Errorf("pause %s: %w", p.spec.Name, err)
		case still || !r.running():
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("pause %s: process %d still runs after %v", p.spec.Name, r.pid, pauseTimeout)
		}
	}
}

// Resume continues a paused program.
func (p *Process) Resume() error { return p.signal(p.current(), syscall.SIGCONT) }

// standsStill reports whether all threads of a process are stopped. It returns true if there is no /proc.
func standsStill(pid int) (bool, error) {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return false, err
		}
		// The state is the letter after the program's name, which is in parentheses and may contain parentheses; see
		// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html. Running and sleeping threads have not received
		// the signal yet. Threads in other states, such as waiting in the kernel for a disk or for a stopped child,
		// can't continue before they receive it.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if bytes.HasPrefix(state, []byte("R")) || bytes.HasPrefix(state, []byte("S")) {
			return false, nil
		}
	}
	return true, nil
}
