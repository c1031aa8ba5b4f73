// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Demo shows the document controller on a real Kubernetes. It starts a cluster, or uses the cluster of the file in
// KUBECONFIG. It then creates, edits, breaks and deletes documents, and prints conditions and events as they change.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wait := flag.Bool("wait", false, "wait for Enter before the end, to look at the debug pages")
	flag.Parse()
	if err := run(ctx, os.Stdout, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// timeout limits the start of Kubernetes after its build, and the demo after it.
const timeout = 5 * time.Minute

func run(ctx context.Context, out io.Writer, wait bool) (err error) {
	s := newScreen(out)
	s.title("A controller on a real Kubernetes")
	options := &kube.ClientOptions{UserAgent: "demo"}
	var own *cluster.Cluster
	if path := os.Getenv("KUBECONFIG"); path != "" {
		s.step("Use the cluster of KUBECONFIG")
	} else {
		s.step("Start Kubernetes (the first start builds it, which takes several minutes)")
		own, err = cluster.Start(ctx, &cluster.Options{Log: s, ReadyTimeout: timeout})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.Stop()) }()
		if options.Config, err = kube.LoadConfig(ctx, &kube.ConfigOptions{Path: own.Kubeconfig()}); err != nil {
			return err
		}
	}
	c, err := kube.NewClient(ctx, options)
	if err != nil {
		return err
	}
	s.say("server %s", c.Server())
	dir, err := os.MkdirTemp("", "documents-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if !wait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the demo took more than %v", timeout))
		defer cancel()
	}
	return play(ctx, s, &stage{client: c, cluster: own, dir: dir, wait: wait})
}
