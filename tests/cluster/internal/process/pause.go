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

// Limits of the wait for a paused program's threads.
const (
	pauseTimeout = 10 * time.Second
	pausePoll    = time.Millisecond
)

// Pause stops the program's process group where it is (SIGSTOP): connections stay open and nothing answers. It returns
// when every thread of the program stands still, which is a moment after the signal was sent; where there is no /proc,
// it returns at once.
func (p *Process) Pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pid := p.PID()
	for deadline := time.Now().Add(pauseTimeout); ; time.Sleep(pausePoll) {
		switch still, err := standsStill(pid); {
		case err != nil:
			return fmt.Errorf("pause %s: %w", p.spec.Name, err)
		case still || !p.Running():
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("pause %s: process %d still runs after %v", p.spec.Name, pid, pauseTimeout)
		}
	}
}

// Resume lets a paused program go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// standsStill reports whether all threads of a process are stopped, or there is no way to know.
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
		// The state is the letter after the program's name, which stands in parentheses and may hold some itself; see
		// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html. Running and sleeping threads have yet to notice
		// the signal; others, such as one that waits in the kernel for a disk or a stopped child, can't go on before
		// they do.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if bytes.HasPrefix(state, []byte("R")) || bytes.HasPrefix(state, []byte("S")) {
			return false, nil
		}
	}
	return true, nil
}
