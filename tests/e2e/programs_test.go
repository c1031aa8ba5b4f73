// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programs are the programs of this repository that users run, built when the first of them is called.
var programs builder

// builder builds programs, once.
type builder struct {
	once sync.Once
	dir  string
	err  error
}

func (b *builder) build() {
	if b.dir, b.err = os.MkdirTemp("", "e2e-programs-"); b.err != nil {
		return
	}
	examples := []string{"./..."}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		examples = append([]string{"-race"}, examples...) // as these tests
	}
	b.err = errors.Join(b.compile("../../examples", examples...), b.compile("../../derive", "./cmd/kube-derive"))
}

func (b *builder) compile(module string, args ...string) error {
	args = append([]string{"build", "-o", b.dir + string(filepath.Separator)}, args...)
	cmd := exec.Command("go", args...) //nolint:noctx // it is every test's
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// remove removes what was built.
func (b *builder) remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// call is a call of a program.
type call struct {
	program string
	args    []string
	dir     string   // where it is called; empty: here
	env     []string // what differs from the environment of this test, such as A=b; "A=" removes A
}

// outcome is what came of a call.
type outcome struct {
	code           int
	stdout, stderr string
}

// programPath returns the path of a program, which is built when the first program is called.
func programPath(t *testing.T, name string) string {
	t.Helper()
	programs.once.Do(programs.build)
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

// command returns the command, which is killed when the context ends. It knows the cluster under test.
func (c call) command(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, programPath(t, c.program), c.args...)
	cmd.Dir = c.dir
	env := append([]string{"GORACE=atexit_sleep_ms=0"}, c.env...) // else each call takes a second longer
	if builtin != nil {
		env = append([]string{"KUBECONFIG=" + builtin.Kubeconfig()}, env...)
	}
	cmd.Env = os.Environ()
	for _, setting := range env {
		name, value, _ := strings.Cut(setting, "=")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(other string) bool { return strings.HasPrefix(other, name+"=") })
		if value != "" {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	return cmd
}

// run calls the program and waits for its end.
func (c call) run(t *testing.T) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy cluster takes its time to delete a namespace
	defer cancel()
	cmd := c.command(ctx, t)
	out := recorder.Writer(c.program)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, out), io.MultiWriter(&stderr, out)
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// process is a program that runs.
type process struct {
	stop           func() outcome // asks it to end and waits for that
	stdout, stderr *transcript
}

// start calls the program, and stops it when the test ends.
func (c call) start(t *testing.T) *process {
	t.Helper()
	out := recorder.Writer(c.program)
	stdout, stderr := transcript{record: out}, transcript{record: out}
	cmd := c.command(context.WithoutCancel(t.Context()), t)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(func() outcome {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop %s: %v", c.program, err)
		}
		_ = cmd.Wait() // its state says how it ended
		return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	})
	t.Cleanup(func() { stop() })
	return &process{stop, &stdout, &stderr}
}

// transcript is what a program writes. It may be read meanwhile.
type transcript struct {
	record io.Writer // gets a copy

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.record.Write(p); err != nil {
		return 0, err
	}
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
