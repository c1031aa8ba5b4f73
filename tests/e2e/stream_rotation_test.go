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

// TestFollowedLogSurvivesRotation checks that following a log returns each line once and in order, even if the node
// rotates the log in the meantime. It also shows that a new request returns only the newest file.
func TestFollowedLogSurvivesRotation(t *testing.T) {
	t.Parallel() // a node checks every ten seconds which logs to rotate
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	chatter := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "chatter"}, Spec: podSpec(nodeOf(t, c))}
	chatter.Spec.Containers[0].Args = []string{"cat"}
	chatter.Spec.Containers[0].Stdin = true
	startPod(t, pods, chatter)

	// Numbers of lines. A node rotates a log of more than 10 MiB. A line takes 1049 to 1057 bytes, so the first lines do
	// not reach this size, and all lines do. A kubelet may lose text if it rotates the log before the reader has reached
	// its end. Therefore only few lines remain to be written when the log has nearly this size. The lines are long, so
	// that their sizes differ little in proportion.
	const first, all, after = 9900, 10_050, 1000
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine takes a long time for so many lines
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
				t.Fatalf("line %d = %q, %v, %t", n, line.Text, err, ok)
			}
		}
	}
	pass(1, 1) // a kubelet follows a rotation only for readers that have reached the end of the log once
	pass(2, first)
	pass(first+1, all)
	eventually(t, "the log is rotated", func(ctx context.Context) error {
		for line, err := range podVerbs(pods).LogLines(ctx, "chatter", nil) {
			if err == nil && line.Text == lineOf(1) {
				err = errors.New("its newest file begins with the first line")
			}
			return err
		}
		return nil // the newest file is empty
	})
	pass(all+1, all+after)
}

// lineOf returns the line with a number.
func lineOf(n int) string { return fmt.Sprintf("line %d %s", n, strings.Repeat(".", 1000)) }

// writeLines writes the lines from first to last.
func writeLines(w io.Writer, first, last int) error {
	buffered := bufio.NewWriter(w)
	for n := first; n <= last; n++ {
		if _, err := fmt.Fprintln(buffered, lineOf(n)); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
