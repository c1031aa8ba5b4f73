// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/election"
)

// testFencedStreams checks that a client with the fence of a manager may exec, attach and forward ports in a term only:
// not before it, and not after another client has taken the lease of the leader or deleted the table of the members.
func testFencedStreams(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	ns := newNamespace(t, c)
	leases := kube.Namespaced[coordinationv1.Lease](c, ns)
	for name, tt := range map[string]struct {
		options kube.ManagerOptions
		end     func() error // ends the term
	}{
		"Leader": {
			options: kube.ManagerOptions{
				LeaderElection: "one", ElectionOptions: &kube.ElectionOptions{Namespace: ns, Identity: "here"},
			},
			end: func() error {
				patch := kube.MergePatch(map[string]any{"spec": map[string]any{"holderIdentity": "elsewhere"}})
				_, err := leases.Patch(limit(t), "one", patch, nil)
				return err
			},
		},
		"Member": {
			options: kube.ManagerOptions{
				Sharding: "many", ShardingOptions: &kube.ShardingOptions{Namespace: ns, Identity: "here"},
			},
			end: func() error { return leases.Delete(limit(t), "many-shards", nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.Logger = debugLogger(t)
			m := kube.NewManager(c, &tt.options)
			work := newTermWork()
			m.Add(work)
			var sent requests
			fenced := connect(t, &kube.ClientOptions{
				Config: c.Config(), PerAttempt: []kube.Middleware{m.Fence(), sent.layer},
			})
			own := inSpace(t, pods, fenced)
			streams := func() int { return sent.count("/exec") + sent.count("/attach") + sent.count("/portforward") }
			refused := func(when string) {
				t.Helper()
				before := streams()
				for verb, stream := range fencedStreams() {
					if err := stream(limit(t), own); !errors.Is(err, election.ErrNotLeader) {
						t.Errorf("%s %s the term = %v, want %v", verb, when, err, election.ErrNotLeader)
					}
				}
				if n := streams() - before; n > 0 {
					t.Errorf("%d requests for streams are sent %s the term", n, when)
				}
				for line, err := range podVerbs(own).LogLines(limit(t), "talker", &kube.LogOptions{Container: "web"}) {
					if line.Text == "" || err != nil {
						t.Errorf("the log %s the term = %q, %v, want a line: a read", when, line.Text, err)
					}
					break
				}
			}
			refused("before")
			stop := background(t, m.Run)
			awaitValue(t, work.terms, "begins")
			for verb, stream := range fencedStreams() {
				if err := stream(limit(t), own); err != nil {
					t.Errorf("%s in the term: %v", verb, err)
				}
			}
			if n := streams(); n != len(fencedStreams()) {
				t.Errorf("%d requests for streams are sent in the term, want one for each", n)
			}
			if err := tt.end(); err != nil {
				t.Fatal(err)
			}
			awaitValue(t, work.terms, "ends")
			refused("after")
			close(work.release)
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// termWork is work that continues after the end of its term until release is closed, so that no other term begins.
type termWork struct {
	terms   chan string // the begins and ends of terms
	release chan struct{}
}

func newTermWork() *termWork {
	return &termWork{terms: make(chan string, 100), release: make(chan struct{})}
}

func (w *termWork) Run(ctx context.Context) error {
	w.terms <- "begins"
	<-ctx.Done()
	w.terms <- "ends"
	<-w.release
	return nil
}

// fencedStreams returns functions that open a stream to the pod of talker and use it.
func fencedStreams() map[string]func(context.Context, *kube.API[corev1.Pod]) error {
	return map[string]func(context.Context, *kube.API[corev1.Pod]) error{
		"exec": func(ctx context.Context, pods *kube.API[corev1.Pod]) error {
			o := &kube.ExecOptions{Container: "web", Command: []string{"tool", "echo", "a"}}
			p, err := podVerbs(pods).Exec(ctx, "talker", o)
			if err != nil {
				return err
			}
			out, err := p.Output()
			if err == nil && string(out) != "a\n" {
				err = fmt.Errorf("the output is %q", out)
			}
			return err
		},
		"attach": func(ctx context.Context, pods *kube.API[corev1.Pod]) error {
			p, err := podVerbs(pods).Attach(ctx, "talker", &pod.AttachOptions{Container: "input", Stdin: true})
			if err != nil {
				return err
			}
			defer p.Close()
			if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
				return err
			}
			got, err := bufio.NewReader(p.Stdout).ReadString('\n')
			if err == nil && got != "hello\n" {
				err = fmt.Errorf("the output is %q", got)
			}
			return err
		},
		"port-forward": func(ctx context.Context, pods *kube.API[corev1.Pod]) error {
			f, err := podVerbs(pods).PortForward("talker", nil)
			if err != nil {
				return err
			}
			conn, err := f.Dial(ctx, "7")
			if err != nil {
				return err
			}
			defer conn.Close()
			return echoes(conn, []byte("hello"))
		},
	}
}
