// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// testStreamPrograms checks that the examples exec, logs and port-forward work as documented.
func testStreamPrograms(t *testing.T, pods *kube.API[corev1.Pod]) {
	var env []string
	if builtin != nil {
		own, err := withNode()
		if err != nil {
			t.Fatal(err)
		}
		env = []string{"KUBECONFIG=" + own.Kubeconfig()}
	}
	ns := pods.Namespace()
	for _, tc := range []struct {
		name    string
		program string
		args    []string
		code    int
		stdout  string // a regular expression that matches all of it
		stderr  string // likewise
	}{
		{
			name: "exec prints the output of the command", program: "exec",
			args: []string{"-c", "web", "talker", "tool", "echo", "a", "-b"}, stdout: `a -b\n`,
		},
		{
			name: "exec exits with the status of the command", program: "exec",
			args: []string{"-c", "web", "talker", "tool", "cat", "/none"},
			code: 1, stderr: `tool: cat: open /none: no such file or directory\n`,
		},
		{
			name: "exec accepts flags after the pod and passes on those of the command", program: "exec",
			args: []string{"talker", "-c", "web", "--", "tool", "echo", "-c"}, stdout: `-c\n`,
		},
		{
			name: "exec passes on an empty input", program: "exec",
			args: []string{"-i", "-c", "web", "talker", "tool", "sum"}, stdout: `e3b0c442\w+ 0\n`,
		},
		{
			name: "exec reports a missing pod", program: "exec", args: []string{"absent", "tool"},
			code: 1, stderr: `exec: exec pods ` + ns + `/absent: not found\n`,
		},
		{
			name: "exec rejects -t without a local terminal", program: "exec", args: []string{"-t", "talker", "sh"},
			code: 1, stderr: `exec: -t requires a terminal as standard input: omit -t\n`,
		},
		{
			name: "logs prints the last lines", program: "logs", args: []string{"talker", "-c", "lines", "-tail", "2"},
			stdout: `(talker/lines line \d+\n){2}`,
		},
		{
			name: "logs prints the logs of all containers", program: "logs", args: []string{"-l", "app=talker", "-tail", "1"},
			stdout: `(talker/\w+ .*\n)*talker/web serving on .*\n(talker/\w+ .*\n)*`,
		},
		{
			name: "logs reports a missing pod", program: "logs", args: []string{"absent"},
			code: 1, stderr: `logs: get pods ` + ns + `/absent: not found\n`,
		},
		{
			name: "port-forward rejects a local port that is not a number", program: "port-forward",
			args: []string{"talker", "http"}, code: 1, stderr: `port-forward: http: the local port must be a number .*\n`,
		},
		{
			name: "port-forward reports a missing service", program: "port-forward", args: []string{"svc/absent", "80"},
			code: 1, stderr: `port-forward: get services ` + ns + `/absent: not found\n`,
		},
		{
			name: "port-forward reports a missing pod", program: "port-forward", args: []string{"absent", "0:80"},
			code: 1, stderr: `port-forward: get pods ` + ns + `/absent: not found\n`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := call{program: tc.program, args: append([]string{"-n", ns}, tc.args...), env: env}.run(t)
			if got.code != tc.code {
				t.Errorf("exit status %d, want %d; stderr: %s", got.code, tc.code, got.stderr)
			}
			for _, out := range []struct{ name, got, want string }{
				{"stdout", got.stdout, tc.stdout},
				{"stderr", got.stderr, tc.stderr},
			} {
				if !regexp.MustCompile(`\A(` + out.want + `)\z`).MatchString(out.got) {
					t.Errorf("%s = %q, want %s", out.name, out.got, out.want)
				}
			}
		})
	}
	t.Run("port-forward forwards", func(t *testing.T) { testForwarding(t, ns, env) })
}

func testForwarding(t *testing.T, ns string, env []string) {
	program := call{program: "port-forward", args: []string{"-n", ns, "talker", "0:http"}, env: env}.start(t)
	var address string
	eventually(t, "the program prints the address on which it listens", func(context.Context) error {
		_, err := fmt.Sscanf(program.stdout.String(), "forwarding %s to port http\n", &address)
		return err
	})
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	eventually(t, "the port responds", func(context.Context) error {
		got, err := get(t, once, "http://"+address)
		if err == nil && got != "talker\n" {
			err = fmt.Errorf("the response is %q", got)
		}
		return err
	})
	got := program.stop()
	if !strings.HasPrefix(address, "127.0.0.1:") || got.stderr != "" {
		t.Errorf("address = %q, stderr = %q, want an address of 127.0.0.1 and no error", address, got.stderr)
	}
	if !strings.Contains(got.stdout, "to "+ns+"/talker:8080\n") {
		t.Errorf("stdout = %q, want the connection in it, too", got.stdout)
	}
}
