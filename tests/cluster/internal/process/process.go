// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs one component of a cluster: a program with its log file, that can be stopped, killed, paused
// and started again, and that says why it died.
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

// Spec says how to run a component. It is not changed by this package and must not be changed by its user
// once a process was started from it.
type Spec struct {
	// Name is the component's, as in messages: "etcd".
	Name string
	// Path is the program's file.
	Path string
	// Args are the arguments after the program's name.
	Args []string
	// Env is added to the environment of this process. Entries also tell this component's processes from others
	// that were given the same PID later, so at least one should be unique to the cluster.
	Env []string
	// Dir is the working directory; empty means this process's.
	Dir string
	// LogFile receives the program's standard output and error; it is appended to.
	LogFile string
	// Ready reports whether the component does its work; it is asked again until it returns nil. Nil: ready at once.
	Ready func(ctx context.Context) error `json:"-"`
	// StopTimeout is how long Stop waits between SIGTERM and SIGKILL. Zero means one second.
	StopTimeout time.Duration
}

// pollInterval is how often readiness, and the life of adopted processes, are checked.
const pollInterval = 25 * time.Millisecond

// Process is a component that was started. After Restart it stands for the new operating system process.
// It is safe for concurrent use.
type Process struct {
	spec Spec

	change sync.Mutex // held while the process is replaced
	mu     sync.Mutex // guards the fields below
	pid    int
	began  time.Time
	offset int64         // where this run's part of the log file starts
	done   chan struct{} // closed when the operating system process has ended
	exit   error         // how it ended; nil is status 0, or unknown for an adopted process
	wanted bool          // Stop or Kill ended it
}

// Start starts the program and returns without waiting for it to be ready (see [Process.Ready]). The context bounds the
// start, not the program's life. The program leads a session of its own, so terminal signals do not reach it.
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
		return fmt.Errorf("start %s: open its log: %w", p.spec.Name, err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	// Not CommandContext: the program outlives the context. The file is handed over as it is, with no copying
	// goroutine between, so the log stays complete when this process dies.
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

// Adopt returns the process that an earlier program started from the same spec, or one that has ended if the PID is no
// longer that process's.
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

// alive reports whether pid is a live process with the spec's environment. Where there is no /proc, the PID alone decides.
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

// Spec returns what the process is started from.
func (p *Process) Spec() Spec { return p.spec }

// Name returns the component's name.
func (p *Process) Name() string { return p.spec.Name }

// LogFile returns the path of the log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// PID returns the process ID of the current, or else the last, run.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Done is closed when the current run has ended. Restart begins a run with a channel of its own.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Running reports whether the program runs; a paused one does.
func (p *Process) Running() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// Wait waits until the current run has ended. It returns nil if Stop or Kill ended it, and else an error that says how it
// ended, with the telling lines of its log.
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

// Ready waits until the component is ready. When the process ends first, or the context does, the error carries the last
// answer and the telling lines of the log.
func (p *Process) Ready(ctx context.Context) error {
	if p.spec.Ready == nil {
		return nil
	}
	return p.Await(ctx, p.spec.Ready)
}

// Await is Ready with a check of the caller's: it is asked until it returns nil.
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
		return "; its log is empty"
	}
	return "; its log says:\n\t" + strings.Join(lines, "\n\t")
}

// Stop asks the program to end with SIGTERM, and kills it when it has not after StopTimeout or at the context's end.
// Stopping what has ended is no error.
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
	// A paused process does not see SIGTERM before it goes on.
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

// Restart ends the current run, if there is one, starts the program again from the same spec and waits until it is ready.
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

// signal sends to the whole process group; SIGTERM goes to the leader alone, who knows what to do with its children.
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
