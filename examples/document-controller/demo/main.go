// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Demo shows the document controller at work on a real Kubernetes: it starts one, or uses the cluster that KUBECONFIG
// names, and goes through what can happen to a document, showing conditions and events as they come.
package main

import (
	"context"
	"errors"
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
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// timeout bounds the story, not the building of Kubernetes before it.
const timeout = 5 * time.Minute

func run(ctx context.Context, out io.Writer) (err error) {
	s := newScreen(out)
	s.title("A controller on a real Kubernetes")
	options := &kube.ClientOptions{UserAgent: "demo"}
	var own *cluster.Cluster
	if path := os.Getenv("KUBECONFIG"); path != "" {
		s.step("Use the cluster of KUBECONFIG")
	} else {
		s.step("Start Kubernetes (the first time it is built, which takes some minutes)")
		own, err = cluster.Start(ctx, &cluster.Options{Log: s})
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

	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the demo took more than %v", timeout))
	defer cancel()
	return tell(ctx, s, &stage{client: c, cluster: own, dir: dir})
}
