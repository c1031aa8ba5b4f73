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

// programs builds the programs that the tests run, before the first of them is run.
var programs builder

// runExamples are the packages of the examples that the tests run. Other examples are tested in this process.
var runExamples = []string{
	"./api-resources", "./apply", "./document-controller", "./document-controller/demo", "./dynamic-get", "./exec",
	"./get", "./hello-controller", "./list-pods", "./logs", "./moose", "./port-forward", "./restarts", "./secret-users",
	"./several-clusters", "./tree",
}

// builder builds programs once.
type builder struct {
	once sync.Once
	dir  string
	err  error
}

func (b *builder) build() {
	if b.dir, b.err = os.MkdirTemp("", "e2e-programs-"); b.err != nil {
		return
	}
	examples := runExamples
	race := debug.BuildSetting{Key: "-race", Value: "true"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, race) {
		examples = append([]string{"-race"}, examples...) // like these tests
	}
	b.err = errors.Join(b.compile("../../examples", examples...), b.compile("../../derive", "./cmd/kube-derive"))
}

// compile builds programs without debug information, since the linker takes half of its time for it.
func (b *builder) compile(module string, args ...string) error {
	args = append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", b.dir + string(filepath.Separator)}, args...)
	cmd := exec.Command("go", args...) //nolint:noctx // all tests share it
	cmd.Dir = module
	if !slices.Contains(args, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // like the programs of users, see newUser
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// remove removes the programs.
func (b *builder) remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// call describes a run of a program.
type call struct {
	program string
	args    []string
	dir     string   // the working directory; empty means the current one
	env     []string // changes to the environment of this test, such as A=b; "A=" removes A
}

// outcome is the result of a run.
type outcome struct {
	code           int
	stdout, stderr string
}

// programPath returns the path of a program. The first call builds all programs.
func programPath(t *testing.T, name string) string {
	t.Helper()
	programs.once.Do(programs.build)
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

// command returns the command that runs the program on the cluster under test. It is killed when the context ends.
func (c call) command(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, programPath(t, c.program), c.args...)
	cmd.Dir = c.dir
	env := append([]string{"GORACE=atexit_sleep_ms=0"}, c.env...) // otherwise each run takes a second longer
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

// run runs the program and waits until it exits.
func (c call) run(t *testing.T) outcome {
	t.Helper()
	programPath(t, c.program) // the build is not part of the time limit
	var stdout, stderr bytes.Buffer
	// A busy cluster takes a long time to delete a namespace.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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

// process is a running program.
type process struct {
	stop           func() outcome // sends SIGTERM and waits until it exits
	stdout, stderr *transcript
}

// start starts the program, and stops it when the test ends.
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
		_ = cmd.Wait() // ProcessState has the result
		return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	})
	t.Cleanup(func() { stop() })
	return &process{stop, &stdout, &stderr}
}

// transcript collects the output of a program. It is safe for concurrent use.
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
