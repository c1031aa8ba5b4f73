// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// testAttach checks that Attach connects to the process of a container, and that closing the connection does not end
// the process.
func testAttach(t *testing.T, pods *kube.API[corev1.Pod]) {
	for range 2 { // the second connection shows that the process is still running
		p, err := podVerbs(pods).Attach(limit(t), "talker", &pod.AttachOptions{Container: "input", Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(p.Stdout).ReadString('\n'); got != "hello\n" || err != nil {
			t.Errorf("output of cat = %q, %v", got, err)
		}
		p.Close()
	}
	p, err := podVerbs(pods).Attach(limit(t), "talker", &pod.AttachOptions{Container: "terminal", TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Resize(99, 33); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(p.Stdout); ; {
		if !lines.Scan() {
			t.Fatalf("the process did not print the new size: %v", lines.Err())
		}
		if strings.TrimSpace(lines.Text()) == "33 99" {
			break
		}
	}
	_, err = podVerbs(pods).Attach(limit(t), "talker", &pod.AttachOptions{Container: "none"})
	if !errors.Is(err, core.ErrBadRequest) {
		t.Errorf("attach to a missing container: %v, want ErrBadRequest", err)
	}
}
