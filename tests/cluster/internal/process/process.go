// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs one component of a cluster: a program with its log file, which can be stopped, killed, paused
// and started again. It reports why a program ended.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec describes a component. Neither this package nor its caller may change it after a process was started from it.
type Spec struct {
	// Name is the component's name in messages, such as "etcd".
	Name string
	// Path is the file of the program.
	Path string
	// Args are the arguments after the program's name.
	Args []string
	// Env is added to the environment of this process. The entries also distinguish the component's processes from
	// others with the same PID, so at least one should be unique to the cluster.
	Env []string
	// Dir is the working directory. Default: that of this process.
	Dir string
	// LogFile receives the program's standard output and error. Output is appended to it.
	LogFile string
	// Ready reports whether the component works. It is called repeatedly until it returns nil. Default: always ready.
	Ready func(ctx context.Context) error `json:"-"`
	// StopTimeout is the time between SIGTERM and SIGKILL in Stop. Default: one second.
	StopTimeout time.Duration
}

// pollInterval is the interval at which readiness, and the life of adopted processes, are checked.
const pollInterval = 25 * time.Millisecond

// Process is a component that was started. After Restart, it represents the new operating system process. It is safe
// for concurrent use.
type Process struct {
	spec Spec

	change sync.Mutex // held while the process is replaced
	mu     sync.Mutex // guards the fields below
	pid    int
	began  time.Time
	offset int64         // the start of this run's part of the log file
	done   chan struct{} // closed when the operating system process has ended
	exit   error         // how it ended; nil for status 0, or if it is unknown for an adopted process
	wanted bool          // Stop or Kill ended it
}

// Start starts the program and returns without waiting until it is ready (see [Process.Ready]). The context limits the
// start, not the life of the program. The program has its own session, so it does not receive terminal signals.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{spec: spec}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) start(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	log, err := os.OpenFile(p.spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: open the log: %w", p.spec.Name, err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	// CommandContext is not used because the program outlives the context. The program writes to the file directly,
	// without a goroutine that copies, so the log is complete even if this process dies.
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env = append(os.Environ(), p.spec.Env...)
	cmd.Dir = p.spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.pid, p.began, p.offset = cmd.Process.Pid, time.Now(), info.Size()
	p.done, p.exit, p.wanted = done, nil, false
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.exit = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

// Adopt returns the process that another program started from the same spec, or an ended one if the PID no longer
// belongs to that process.
func Adopt(spec Spec, pid int) *Process {
	done := make(chan struct{})
	p := &Process{spec: spec, pid: pid, began: time.Now(), done: done}
	if info, err := os.Stat(spec.LogFile); err == nil {
		p.offset = max(0, info.Size()-tailBytes)
	}
	if !alive(spec, pid) {
		close(done)
		return p
	}
	go func() {
		for alive(spec, pid) {
			time.Sleep(pollInterval)
		}
		close(done)
	}()
	return p
}

// alive reports whether pid is a running process with the spec's environment. Without /proc, it only checks the PID.
func alive(spec Spec, pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		_, statErr := os.Stat("/proc/self/environ")
		return statErr != nil
	}
	have := bytes.Split(environ, []byte{0})
	for _, want := range spec.Env {
		found := false
		for _, entry := range have {
			found = found || string(entry) == want
		}
		if !found {
			return false // another process, or a zombie, whose environment is empty
		}
	}
	return len(environ) > 0
}

// Spec returns the spec of the process.
func (p *Process) Spec() Spec { return p.spec }

// Name returns the component's name.
func (p *Process) Name() string { return p.spec.Name }

// LogFile returns the path of the log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// PID returns the process ID of the current run, or of the last one.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Done returns a channel that is closed when the current run has ended. Restart begins a run with a new channel.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Running reports whether the program is running. A paused program is.
func (p *Process) Running() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// Wait waits until the current run has ended. It returns nil if Stop or Kill ended it, and otherwise an error that says
// how it ended, with the telling lines of its log.
func (p *Process) Wait() error {
	<-p.Done()
	p.mu.Lock()
	wanted, exit, began := p.wanted, p.exit, p.began
	p.mu.Unlock()
	if wanted {
		return nil
	}
	how := "ended"
	if exit != nil {
		how = "ended with " + exit.Error()
	}
	return fmt.Errorf("%s %s after %v%s", p.spec.Name, how, time.Since(began).Round(10*time.Millisecond), p.lines())
}

// Ready waits until the component is ready. If the process or the context ends first, the error includes that of the
// last check, and the telling lines of the log.
func (p *Process) Ready(ctx context.Context) error {
	if p.spec.Ready == nil {
		return nil
	}
	return p.Await(ctx, p.spec.Ready)
}

// Await is Ready with another check, which is called until it returns nil.
func (p *Process) Await(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	done := p.Done()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-done:
			if err := p.Wait(); err != nil {
				return err
			}
			return fmt.Errorf("%s was stopped before it was ready", p.spec.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; %w%s", p.spec.Name, err, context.Cause(ctx), p.lines())
		case <-tick.C:
		}
	}
}

func (p *Process) lines() string {
	lines := p.TellingLines(8)
	if len(lines) == 0 {
		return "; the log is empty"
	}
	return "; its log has:\n\t" + strings.Join(lines, "\n\t")
}

// Stop ends the program with SIGTERM, and kills it if it has not ended after StopTimeout or when the context ends.
// Stopping an ended program is not an error.
func (p *Process) Stop(ctx context.Context) error {
	p.change.Lock()
	defer p.change.Unlock()
	return p.stop(ctx)
}

func (p *Process) stop(ctx context.Context) error {
	timeout := p.spec.StopTimeout
	if timeout == 0 {
		timeout = time.Second
	}
	// A paused process does not receive SIGTERM until it continues.
	if err := errors.Join(p.signal(syscall.SIGTERM), p.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.Done():
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.Kill()
}

// Kill ends the program and the rest of its process group with SIGKILL, and waits until it has ended.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.Done()
	return nil
}

// Restart ends the current run if there is one, starts the program again from the same spec, and waits until it is
// ready.
func (p *Process) Restart(ctx context.Context) error {
	p.change.Lock()
	defer p.change.Unlock()
	if err := p.stop(ctx); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	return p.Ready(ctx)
}

// signal signals the whole process group; only SIGTERM is sent to the leader alone, which ends its children.
func (p *Process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return nil
	default:
	}
	target := -p.pid
	switch sig {
	case syscall.SIGTERM:
		target = p.pid
		p.wanted = true
	case syscall.SIGKILL:
		p.wanted = true
	}
	if err := syscall.Kill(target, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %s: %w", sig, p.spec.Name, err)
	}
	return nil
}
