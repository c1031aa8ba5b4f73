// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// TestExecExampleConnectsAndRestoresTerminal checks that the example exec connects a terminal to a process in a
// container, with its size and its keys, and restores its settings no matter how the process ends.
func TestExecExampleConnectsAndRestoresTerminal(t *testing.T) {
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	pod := &corev1.Pod{Spec: podSpec(nodeOf(t, c))}
	pod.Name = "shell"
	startPod(t, pods, pod)
	var env []string
	if builtin != nil {
		own, err := withNode()
		if err != nil {
			t.Fatal(err)
		}
		env = []string{"KUBECONFIG=" + own.Kubeconfig()}
	}
	for _, tc := range []struct {
		name string
		end  func(*terminal)
		code int
	}{
		{"ended by Ctrl-C", func(term *terminal) { term.write("\x03") }, 128 + int(syscall.SIGINT)},
		{"ended by Ctrl-D", func(term *terminal) { term.write("\x04") }, 0},
		{"whose pod is deleted", func(*terminal) {
			if err := pods.Delete(limit(t), "shell", &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
				t.Fatal(err)
			}
		}, 128 + int(syscall.SIGKILL)},
	} {
		t.Run("a process "+tc.name, func(t *testing.T) {
			term := newTerminal(t)
			before := term.modes()
			term.resize(80, 24)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the program may have to be built
			defer cancel()
			args := []string{"-n", ns, "-i", "-t", "shell", "tool", "size"}
			program := call{program: "exec", args: args, env: env}.command(ctx, t)
			term.start(program)
			term.await("24 80")
			if now := term.modes(); now.Lflag&(syscall.ICANON|syscall.ECHO|syscall.ISIG) != 0 {
				t.Errorf("the terminal is not in raw mode: its local flags are %#x", now.Lflag)
			}
			term.resize(132, 50)
			term.await("50 132")
			tc.end(term)
			if _ = program.Wait(); program.ProcessState.ExitCode() != tc.code {
				t.Errorf("the program ended with %v, want the exit status %d", program.ProcessState, tc.code)
			}
			if after := term.modes(); after != before {
				t.Errorf("the settings of the terminal are %+v, want %+v as before", after, before)
			}
		})
	}
}

// terminal is a pseudoterminal with both its ends.
type terminal struct {
	t             *testing.T
	master, slave *os.File
	lines         *bufio.Scanner
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	term := &terminal{t: t, master: master, lines: bufio.NewScanner(io.TeeReader(master, recorder.Writer("terminal")))}
	var number, locked uint32
	term.control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	term.control(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	if term.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.slave.Close() })
	return term
}

// control calls ioctl on an end of the terminal, see ioctl_tty(2).
func (term *terminal) control(end *os.File, request uintptr, argument unsafe.Pointer) {
	term.t.Helper()
	conn, err := end.SyscallConn()
	if err != nil {
		term.t.Fatal(err)
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err != nil || errno != 0 {
		term.t.Fatalf("ioctl %#x: %v, %v", request, err, errno)
	}
}

func (term *terminal) resize(columns, rows uint16) {
	term.t.Helper()
	size := struct{ rows, columns, width, height uint16 }{rows: rows, columns: columns}
	term.control(term.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// modes returns the settings of the terminal.
func (term *terminal) modes() (modes syscall.Termios) {
	term.t.Helper()
	term.control(term.slave, syscall.TCGETS, unsafe.Pointer(&modes))
	return modes
}

// start starts a program whose controlling terminal is this one.
func (term *terminal) start(program *exec.Cmd) {
	term.t.Helper()
	program.Stdin, program.Stdout, program.Stderr = term.slave, term.slave, term.slave
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := program.Start(); err != nil {
		term.t.Fatal(err)
	}
}

func (term *terminal) write(keys string) {
	term.t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// await waits until the terminal shows a line.
func (term *terminal) await(line string) {
	term.t.Helper()
	_ = term.master.SetReadDeadline(time.Now().Add(time.Minute)) // otherwise Scan could block forever
	for term.lines.Scan() {
		if strings.TrimSpace(term.lines.Text()) == line {
			return
		}
	}
	term.t.Fatalf("the terminal does not show %q: %v", line, term.lines.Err())
}
