// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/plain"
)

// Limits of a run of the plugin.
const (
	runTime         = time.Minute     // not interactive
	interactiveTime = 5 * time.Minute // interactive
	endTime         = 2 * time.Second // for child processes that keep the output open
	stdoutBytes     = 1 << 20
	stderrBytes     = 2 << 10  // the end of standard error in an error
	tailBytes       = 64 << 10 // the end of standard error that is searched for secrets
	hintBytes       = 2 << 10
	// failurePause is how long a failed plugin is not run again. The requests of one operation start within moments: if a
	// user has mistyped a password, the second one must not ask for it again.
	failurePause = time.Second
)

// run runs the plugin once.
func (p *Plugin) run(ctx context.Context, _ *credential) (*credential, error) {
	interactive, err := p.interactive()
	if err != nil {
		return nil, err
	}
	limit := p.options.Timeout
	switch {
	case limit != 0:
	case interactive:
		limit = interactiveTime
	default:
		limit = runTime
	}
	late := fmt.Errorf("was killed: it took longer than %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	cmd, err := p.cmd(ctx, interactive)
	if err != nil {
		return nil, err
	}
	stdout, stderr := &output{most: stdoutBytes, stop: cancel}, &tail{most: tailBytes}
	cmd.Stdout, cmd.Stderr = stdout, p.stderr(interactive, stderr)
	var cred *credential
	switch err = cmd.Run(); {
	case stdout.full:
		err = fmt.Errorf("was killed: it printed more than %d bytes", stdoutBytes)
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a child process may keep the output open
		cred, err = decodeCredential(stdout.data.Bytes(), p.exec.APIVersion)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, &PluginError{Command: p.command, Stderr: p.public(stderr), Err: err}
	}
	return cred, nil
}

// interactive reports whether this run may be interactive.
func (p *Plugin) interactive() (bool, error) {
	in := p.options.Stdin
	if in == nil {
		in = os.Stdin
	}
	switch p.exec.InteractiveMode {
	case config.InteractiveNever:
		return false, nil
	case config.InteractiveAlways:
		if p.options.NoStdin {
			return false, p.errorf("is interactive, but standard input is reserved for the program: log in beforehand")
		}
		if !isTerminal(in) {
			return false, p.errorf("is interactive, but standard input is not a terminal: log in beforehand")
		}
		return true, nil
	case config.InteractiveIfAvailable: // also the default
	}
	return !p.options.NoStdin && isTerminal(in), nil
}

// isTerminal reports whether a file may be a terminal.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // also a character device
	return err != nil || !os.SameFile(info, null)
}

// cmd returns the process to run, after checking that the policy allows its program.
func (p *Plugin) cmd(ctx context.Context, interactive bool) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, p.command, p.exec.Args...)
	if err := p.find(cmd); err != nil {
		return nil, err
	}
	info, err := encodeInfo(p.exec.APIVersion, interactive, p.cluster)
	if err != nil {
		return nil, err
	}
	cmd.Env = cmd.Environ()
	for _, v := range p.exec.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+string(v.Value))
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(info))
	cmd.WaitDelay = endTime
	if interactive { // only the foreground process group may read from the terminal
		if cmd.Stdin = p.options.Stdin; p.options.Stdin == nil {
			cmd.Stdin = os.Stdin
		}
		return cmd, nil
	}
	detach(cmd, p.exec.InteractiveMode != config.InteractiveNever)
	return cmd, nil
}

// find resolves the program, and applies the policy to its path.
func (p *Plugin) find(cmd *exec.Cmd) error {
	if cmd.Err == nil && cmd.Path == p.command { // a path is not checked by exec.Command
		_, cmd.Err = exec.LookPath(cmd.Path)
	}
	if cmd.Err != nil {
		err := p.errorf("cannot be run: %w", errors.Unwrap(cmd.Err))
		if errors.Is(cmd.Err, exec.ErrDot) {
			err.Err = errors.New("is only in the current directory, which is not searched: specify its path")
		} else if err.Hint = plain.Line(p.exec.InstallHint[:min(len(p.exec.InstallHint), hintBytes)]); err.Hint == "" {
			err.Hint = "install it, or correct the command"
		}
		return err
	}
	if p.options.Policy != Allowlist {
		return nil
	}
	path := absolute(cmd.Path)
	if slices.ContainsFunc(p.options.Allow, func(name string) bool {
		allowed, err := exec.LookPath(name)
		return err == nil && absolute(allowed) == path
	}) {
		return nil
	}
	return p.errorf("is not allowed to run: %s is not in PluginOptions.Allow", path)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil { // an error means that the working directory was deleted
		return abs
	}
	return path
}

// stderr returns the destination of the plugin's standard error.
func (p *Plugin) stderr(interactive bool, end *tail) io.Writer {
	switch {
	case p.options.Stderr == nil && interactive:
		return os.Stderr // the terminal itself: a plugin may draw on it
	case p.options.Stderr == nil:
		return end
	case p.options.Stderr == io.Writer(os.Stderr):
		return os.Stderr
	}
	return io.MultiWriter(end, p.options.Stderr)
}

// output keeps the output of a plugin, and stops the plugin if the output is too large.
type output struct {
	most int
	stop func()
	data bytes.Buffer
	full bool
}

// Write appends p to the output.
func (o *output) Write(p []byte) (int, error) {
	if o.data.Len()+len(p) > o.most {
		o.full = true
		o.stop()
		return 0, io.ErrShortWrite
	}
	return o.data.Write(p)
}

// tail keeps the end of the data that is written to it.
type tail struct {
	most int
	data []byte
	cut  bool // data before it was dropped
}

// Write appends p and keeps the end.
func (t *tail) Write(p []byte) (int, error) {
	t.cut = t.cut || len(t.data)+len(p) > t.most
	t.data = append(t.data, p[max(0, len(p)-t.most):]...)
	t.data = t.data[max(0, len(t.data)-t.most):]
	return len(p), nil
}
