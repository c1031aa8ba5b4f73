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

// testExec promises that a command's outputs, input and exit status are those of the process, and that what can't be run
// says why.
func testExec(t *testing.T, pods *kube.API[corev1.Pod]) {
	exec := func(o *kube.ExecOptions) ([]byte, error) {
		t.Helper()
		p, err := podVerbs(pods).Exec(limit(t), "talker", o)
		if err != nil {
			return nil, err
		}
		return p.Output()
	}
	if out, err := exec(&kube.ExecOptions{Container: "web", Command: []string{"tool", "echo", "a", "b c"}}); string(out) != "a b c\n" || err != nil {
		t.Errorf("echo = %q, %v", out, err)
	}
	_, err := exec(&kube.ExecOptions{Container: "web", Command: []string{"tool", "exit", "42"}})
	if exit, ok := errors.AsType[*kube.ExitError](err); !ok || exit.Code != 42 || err.Error() != "exec pods "+pods.Namespace()+"/talker: exit status 42" {
		t.Errorf("exit 42: %v", err)
	}
	_, err = exec(&kube.ExecOptions{Container: "web", Command: []string{"tool", "cat", "/none"}})
	if exit, ok := errors.AsType[*kube.ExitError](err); !ok || exit.Code != 1 || !strings.Contains(string(exit.Stderr), "/none: no such file") {
		t.Errorf("cat /none: %v", err)
	}
	if _, err := exec(&kube.ExecOptions{Container: "web", Command: []string{"dance"}}); err == nil || !strings.Contains(err.Error(), `"dance": executable file not found`) {
		t.Errorf("dance: %v", err)
	}
	if _, err := exec(&kube.ExecOptions{Command: []string{"tool"}, Container: "none"}); !errors.Is(err, core.ErrBadRequest) {
		t.Errorf("in no container: %v", err)
	}
	if _, err := podVerbs(pods).Exec(limit(t), "none", &kube.ExecOptions{Container: "web", Command: []string{"tool"}}); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("in no pod: %v", err)
	}
	if out, err := exec(&kube.ExecOptions{Container: "web", Command: []string{"tool", "echo", "-stderr", "a"}, NoStdout: true}); len(out) > 0 || err != nil {
		t.Errorf("without an output = %q, %v", out, err)
	}

	// What one types is there at once, and the end of the input ends the process.
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "cat"}, Stdin: true})
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
		t.Errorf("the output ends with %v", err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// testExecMuch promises that 100 MB come through both ways as they are, several at once, that an output which nobody reads
// keeps nothing else from going on, and that nothing is left behind.
func testExecMuch(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	const much = 100 << 20
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine takes its time for so many bytes
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		p, err := podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "write", "-sum", "100M"}})
		if err != nil {
			t.Error(err)
			return
		}
		want, err := p.Output()
		if err != nil {
			t.Error(err)
		}
		if p, err = podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "write", "-wait", "100M"}, Stdin: true}); err != nil {
			t.Error(err)
			return
		}
		// The process ends when all has come: what a process leaves on the way when it ends, a busy node may drop.
		wait, all := io.Pipe()
		n := &counter{max: much, reached: func() { _ = all.Close() }}
		sum := sha256.New()
		if err := p.Run(wait, io.MultiWriter(sum, n), nil); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%x %d\n", sum.Sum(nil), n.count); got != string(want) {
			t.Errorf("what came out has the sum %s, want %s", got, want)
		}
		t.Logf("%s out in %v", size(much), time.Since(start))
	})
	running.Go(func() {
		p, err := podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "sum"}, Stdin: true})
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
			t.Errorf("what went in has the sum %s, want %s", got.String(), want)
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
		t.Errorf("a process whose output nobody reads: %v", err)
	}
	if n, err := io.Copy(io.Discard, p.Stdout); n == 0 || !errors.Is(err, pod.ErrStalled) {
		t.Errorf("its output = %d bytes, %v, want some and ErrStalled", n, err)
	}
	check()
}

// counter counts bytes, and tells when there are so many.
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

// testTerminal promises that a process with a terminal is told of its size.
func testTerminal(t *testing.T, pods *kube.API[corev1.Pod]) {
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "size"}, Stdin: true, TTY: true})
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
		t.Fatalf("the size %s does not come: %v", want, lines.Err())
	}
	for _, size := range [][2]uint16{{80, 24}, {132, 50}} {
		if err := p.Resize(size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		await(fmt.Sprintf("%d %d", size[1], size[0]))
	}
	if _, err := io.WriteString(p.Stdin, "\x04"); err != nil { // Ctrl-D, which ends the input of a terminal
		t.Error(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}
