// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/kube"
)

// TestLogRotation promises that who follows a log gets each line once, in its order, also when the node rotates the log
// meanwhile; and shows what who comes later gets: the newest file.
func TestLogRotation(t *testing.T) {
	t.Parallel() // a node looks every ten seconds for what it should rotate
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	chatter := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "chatter"}, Spec: podSpec(nodeOf(t, c))}
	chatter.Spec.Containers[0].Args = []string{"cat"}
	chatter.Spec.Containers[0].Stdin = true
	startPod(t, pods, chatter)

	const before, after = 200_000, 1000                            // lines; the first alone are more than the 10 MiB that make a node rotate a log
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine takes its time for so many lines
	defer cancel()
	p, err := podVerbs(pods).Attach(ctx, "chatter", &pod.AttachOptions{Stdin: true, NoStdout: true, NoStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	next, stop := iter.Pull2(podVerbs(pods).LogLines(ctx, "chatter", &kube.LogOptions{Follow: true}))
	defer stop()
	pass := func(first, last int) {
		t.Helper()
		if err := writeLines(p.Stdin, first, last); err != nil {
			t.Fatal(err)
		}
		for n := first; n <= last; n++ {
			if line, err, ok := next(); line.Text != lineOf(n) || err != nil {
				t.Fatalf("%q, %v, %t comes after line %d", line.Text, err, ok, n-1)
			}
		}
	}
	pass(1, 1) // kubelets take along only those who have once come to the end of the log
	pass(2, before)
	eventually(t, "the log is rotated", func(ctx context.Context) error {
		for line, err := range podVerbs(pods).LogLines(ctx, "chatter", nil) {
			if err == nil && line.Text == lineOf(1) {
				err = errors.New("its newest file begins with the first line")
			}
			return err
		}
		return nil // it is a new file
	})
	pass(before+1, before+after)
}

// lineOf returns a line that is told apart from others.
func lineOf(n int) string { return fmt.Sprintf("line %d %s", n, strings.Repeat(".", 40)) }

func writeLines(w io.Writer, first, last int) error {
	buffered := bufio.NewWriter(w)
	for n := first; n <= last; n++ {
		if _, err := fmt.Fprintln(buffered, lineOf(n)); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
