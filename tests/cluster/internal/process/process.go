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
	"slices"
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
	// Unset is the beginning of the names of variables of this process that the program does not get. Default: it gets all.
	Unset string
	// Dir is the working directory. Default: that of this process.
	Dir string
	// LogFile receives the program's standard output and error. Output is appended to it.
	LogFile string
	// Ready reports whether the component works. It is called repeatedly until it returns nil. Default: always ready.
	Ready func(ctx context.Context) error `json:"-"`
	// StopTimeout is the time between SIGTERM and SIGKILL in Stop. Default: one second.
	StopTimeout time.Duration
}

// inherited returns the variables of this process that the program gets.
func (s Spec) inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return s.Unset != "" && strings.HasPrefix(entry, s.Unset)
	})
}

// pollInterval is the interval at which readiness, and the life of adopted processes, are checked.
const pollInterval = 25 * time.Millisecond

// Process is a component that was started. After Restart, it represents the new operating system process. It is safe
// for concurrent use.
type Process struct {
	spec Spec

	change sync.Mutex // held while the process is replaced
	mu     sync.Mutex // guards the fields below, and the field wanted of each run; held while the program is started
	latest *run
	closed bool // Close was called
}

// run is one run of the program. Methods of [Process] that wait use the same run from beginning to end, because Restart
// may begin another one in the meantime.
type run struct {
	pid    int
	began  time.Time
	offset int64         // the start of this run's part of the log file
	ended  chan struct{} // closed when the operating system process has ended; see done
	exit   error         // how it ended, set before ended is closed; nil for status 0, or if it is unknown (see Adopt)
	wanted bool          // Stop or Kill ended it
	alive  func() bool   // whether an adopted process is still running; nil for a child of this process
	follow sync.Once
}

// done returns a channel that is closed when the process has ended. Only if it is needed, a goroutine follows an adopted
// process.
func (r *run) done() <-chan struct{} {
	if r.alive != nil {
		r.follow.Do(func() {
			go func() {
				for r.alive() {
					time.Sleep(pollInterval)
				}
				close(r.ended)
			}()
		})
	}
	return r.ended
}

func (r *run) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return r.alive == nil || r.alive()
	}
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
	cmd.Env = slices.Concat(p.spec.inherited(), p.spec.Env)
	cmd.Dir = p.spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("start %s: the cluster is stopped", p.spec.Name)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	r := &run{pid: cmd.Process.Pid, began: time.Now(), offset: info.Size(), ended: make(chan struct{})}
	p.latest = r
	go func() {
		r.exit = cmd.Wait()
		close(r.ended)
	}()
	return nil
}

// Adopt returns the process that another program started from the same spec, or an ended one if the PID no longer
// belongs to that process.
func Adopt(spec Spec, pid int) *Process {
	r := &run{pid: pid, began: time.Now(), ended: make(chan struct{})}
	p := &Process{spec: spec, latest: r}
	if info, err := os.Stat(spec.LogFile); err == nil {
		r.offset = max(0, info.Size()-tailBytes)
	}
	if !alive(spec, pid) {
		close(r.ended)
		return p
	}
	r.alive = func() bool { return alive(spec, pid) }
	return p
}

// alive reports whether pid is a running process with the spec's environment. Without /proc, it only checks the PID.
func alive(spec Spec, pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	environ, err := environment(pid)
	if err != nil {
		_, statErr := os.Stat("/proc/self/environ")
		return statErr != nil
	}
	have := bytes.Split(environ, []byte{0})
	for _, want := range spec.Env {
		if !slices.ContainsFunc(have, func(entry []byte) bool { return string(entry) == want }) {
			return false // another process
		}
	}
	return len(environ) > 0
}

// environment returns the environment of a process, which is empty for a zombie. During execve, it is briefly empty or
// incomplete, so environment reads it until two reads have the same bytes.
func environment(pid int) ([]byte, error) {
	var last []byte
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		complete := len(environ) > 0 && bytes.Equal(environ, last)
		if err != nil || complete || zombie(pid) || time.Now().After(deadline) {
			return environ, err
		}
		last = environ
	}
}

// zombie reports whether a process has ended.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// The state follows the name of the program, which is in parentheses and may contain others; see proc_pid_stat(5).
	state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(state) == 0 || state[0] == 'Z' || state[0] == 'X'
}

// Spec returns the spec of the process.
func (p *Process) Spec() Spec { return p.spec }

// Name returns the component's name.
func (p *Process) Name() string { return p.spec.Name }

// LogFile returns the path of the log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// current returns the current run, or the last one.
func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

// PID returns the process ID of the current run, or of the last one.
func (p *Process) PID() int { return p.current().pid }

// Done returns a channel that is closed when the current run has ended. Restart begins a run with a new channel.
func (p *Process) Done() <-chan struct{} { return p.current().done() }

// Running reports whether the program is running. A paused program is.
func (p *Process) Running() bool { return p.current().running() }

// Wait waits until the current run has ended. It returns nil if Stop or Kill ended it, and otherwise an error that says
// how it ended, with the telling lines of its log.
func (p *Process) Wait() error { return p.wait(p.current()) }

func (p *Process) wait(r *run) error {
	<-r.done()
	p.mu.Lock()
	wanted := r.wanted
	p.mu.Unlock()
	if wanted {
		return nil
	}
	how := "ended"
	if r.exit != nil {
		how = "ended with " + r.exit.Error()
	}
	return fmt.Errorf("%s %s after %v%s", p.spec.Name, how, time.Since(r.began).Round(10*time.Millisecond), p.lines(r))
}

// Ready waits until the component is ready. If the current run or the context ends first, the error includes that of
// the last check, and the telling lines of the log.
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
	r := p.current()
	var last error // of the last check that ended before the context, which has the reason
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-r.done():
			if err := p.wait(r); err != nil {
				return err
			}
			return fmt.Errorf("%s was stopped before it was ready", p.spec.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; %w%s", p.spec.Name, last, context.Cause(ctx), p.lines(r))
		case <-tick.C:
		}
	}
}

func (p *Process) lines(r *run) string {
	lines := p.tellingLines(r, 8)
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
	r := p.current()
	// A paused process does not receive SIGTERM until it continues.
	if err := errors.Join(p.signal(r, syscall.SIGTERM), p.signal(r, syscall.SIGCONT)); err != nil {
		return err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-r.done():
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.kill(r)
}

// Kill ends the program and the rest of its process group with SIGKILL, and waits until it has ended.
func (p *Process) Kill() error { return p.kill(p.current()) }

// Close is Kill, and makes each later Restart an error.
func (p *Process) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	return p.Kill()
}

func (p *Process) kill(r *run) error {
	if err := p.signal(r, syscall.SIGKILL); err != nil {
		return err
	}
	<-r.done()
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

// signal signals the whole process group of the run; only SIGTERM is sent to the leader alone, which ends its children.
func (p *Process) signal(r *run, sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.running() {
		return nil
	}
	target := -r.pid
	switch sig {
	case syscall.SIGTERM:
		target = r.pid
		r.wanted = true
	case syscall.SIGKILL:
		r.wanted = true
	}
	if err := syscall.Kill(target, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %s: %w", sig, p.spec.Name, err)
	}
	return nil
}
