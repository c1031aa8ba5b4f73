// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Access-token is a controller that makes a service account with permissions and a token for each AccessToken. The
// controller is in package tokens.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kube-go/sdk/examples/access-token/tokens"
	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "access-token:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	return tokens.Run(ctx, c)
}
