// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// testExec checks the output, the input and the exit status of a command, and the errors of commands that cannot run.
func testExec(t *testing.T, pods *kube.API[corev1.Pod]) {
	exec := func(o *kube.ExecOptions) ([]byte, error) {
		t.Helper()
		p, err := podVerbs(pods).Exec(limit(t), "talker", o)
		if err != nil {
			return nil, err
		}
		return p.Output()
	}
	inWeb := func(command ...string) *kube.ExecOptions {
		return &kube.ExecOptions{Container: "web", Command: command}
	}
	if out, err := exec(inWeb("tool", "echo", "a", "b c")); string(out) != "a b c\n" || err != nil {
		t.Errorf("echo = %q, %v", out, err)
	}
	_, err := exec(inWeb("tool", "exit", "42"))
	want := "exec pods " + pods.Namespace() + "/talker: exit status 42"
	if exit, ok := errors.AsType[*kube.ExitError](err); !ok || exit.Code != 42 || err.Error() != want {
		t.Errorf("exit 42: %v, want %s", err, want)
	}
	_, err = exec(inWeb("tool", "cat", "/none"))
	exit, ok := errors.AsType[*kube.ExitError](err)
	if !ok || exit.Code != 1 || !strings.Contains(string(exit.Stderr), "/none: no such file") {
		t.Errorf("cat /none: %v, want exit status 1 with stderr", err)
	}
	_, err = exec(inWeb("dance"))
	if err == nil || !strings.Contains(err.Error(), `"dance": executable file not found`) {
		t.Errorf("an unknown command: %v", err)
	}
	_, err = exec(&kube.ExecOptions{Command: []string{"tool"}, Container: "none"})
	if !errors.Is(err, core.ErrBadRequest) {
		t.Errorf("exec in a missing container: %v, want ErrBadRequest", err)
	}
	if _, err := podVerbs(pods).Exec(limit(t), "none", inWeb("tool")); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("exec in a missing pod: %v, want ErrNotFound", err)
	}
	quiet := inWeb("tool", "echo", "-stderr", "a")
	quiet.NoStdout = true
	if out, err := exec(quiet); len(out) > 0 || err != nil {
		t.Errorf("output with NoStdout = %q, %v, want none", out, err)
	}

	// Input is passed on without delay, and the end of the input ends the process.
	cat := inWeb("tool", "cat")
	cat.Stdin = true
	p, err := podVerbs(pods).Exec(limit(t), "talker", cat)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(p.Stdout)
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(p.Stdin, line); err != nil {
			t.Fatal(err)
		}
		if got, err := out.ReadString('\n'); got != line || err != nil {
			t.Errorf("cat = %q, %v, want %q", got, err, line)
		}
	}
	if err := p.Stdin.Close(); err != nil {
		t.Error(err)
	}
	if _, err := out.ReadByte(); err != io.EOF {
		t.Errorf("the output ends with %v, want io.EOF", err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// testExecMuch checks that 32 MiB are transferred unchanged in both directions at the same time, that output that is
// not read does not block the process, and that no goroutines or open files remain.
func testExecMuch(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	const much = 32 << 20
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for a busy machine
	defer cancel()
	exec := func(ctx context.Context, stdin bool, command ...string) (*kube.Process, error) {
		return podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{Container: "web", Command: command, Stdin: stdin})
	}
	var running sync.WaitGroup
	running.Go(func() {
		p, err := exec(ctx, false, "tool", "write", "-sum", "32M")
		if err != nil {
			t.Error(err)
			return
		}
		want, err := p.Output()
		if err != nil {
			t.Error(err)
		}
		if p, err = exec(ctx, true, "tool", "write", "-wait", "32M"); err != nil {
			t.Error(err)
			return
		}
		// The process ends after the client has received everything, because a busy node may drop output that is still
		// in transit when a process ends.
		wait, all := io.Pipe()
		n := &counter{max: much, reached: func() { _ = all.Close() }}
		sum := sha256.New()
		if err := p.Run(wait, io.MultiWriter(sum, n), nil); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%x %d\n", sum.Sum(nil), n.count); got != string(want) {
			t.Errorf("checksum of the output = %s, want %s", got, want)
		}
		t.Logf("%s out in %v", size(much), time.Since(start))
	})
	running.Go(func() {
		p, err := exec(ctx, true, "tool", "sum")
		if err != nil {
			t.Error(err)
			return
		}
		sum := sha256.New()
		noise := io.LimitReader(rand.NewChaCha8([32]byte{1}), much)
		var got strings.Builder
		if err := p.Run(io.TeeReader(noise, sum), &got, nil); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf("%x %d\n", sum.Sum(nil), much); got.String() != want {
			t.Errorf("checksum of the input = %s, want %s", got.String(), want)
		}
		t.Logf("%s in in %v", size(much), time.Since(start))
	})
	running.Wait()

	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{
		Container: "web", Command: []string{"tool", "write", "16M"}, BufferBytes: 1 << 20, StallTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("Wait for a process whose output is not read: %v", err)
	}
	if n, err := io.Copy(io.Discard, p.Stdout); n == 0 || !errors.Is(err, pod.ErrStalled) {
		t.Errorf("the output has %d bytes, then %v, want some bytes, then ErrStalled", n, err)
	}
	check()
}

// counter counts bytes and calls reached at a maximum.
type counter struct {
	count, max int
	reached    func()
}

func (c *counter) Write(p []byte) (int, error) {
	c.count += len(p)
	if c.count >= c.max {
		c.reached()
	}
	return len(p), nil
}

// testTerminal checks that a process with a terminal receives the size of the terminal and its changes.
func testTerminal(t *testing.T, pods *kube.API[corev1.Pod]) {
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{
		Container: "web", Command: []string{"tool", "size"}, Stdin: true, TTY: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lines := bufio.NewScanner(p.Stdout)
	await := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == want {
				return
			}
		}
		t.Fatalf("the process did not print the size %s: %v", want, lines.Err())
	}
	for _, size := range [][2]uint16{{80, 24}, {132, 50}} {
		if err := p.Resize(size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		await(fmt.Sprintf("%d %d", size[1], size[0]))
	}
	if _, err := io.WriteString(p.Stdin, "\x04"); err != nil { // Ctrl-D ends the input of a terminal
		t.Error(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}
