// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Claim is a controller that gives users cluster-scoped buckets for claims in their namespaces. The controller is in
// package buckets.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kube-go/sdk/examples/claim/buckets"
	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "claim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	return buckets.Run(ctx, c)
}
