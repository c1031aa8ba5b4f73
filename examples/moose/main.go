// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Moose is a controller that is a state machine: each moose is tagged, eats and sleeps until it has its weight, and is
// released. The machine is in package life. With -graph, moose only prints its diagram.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "moose:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("moose", flag.ContinueOnError)
	graph := flags.Bool("graph", false, "print the states and transitions as a Mermaid diagram, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var options kube.ClientOptions
	if *graph { // needs no cluster
		options.Config = &kube.Config{Server: "https://cluster.invalid"}
	}
	c, err := kube.NewClient(ctx, &options)
	if err != nil {
		return err
	}
	if *graph {
		fmt.Print(life.New(c, nil).Graph().Mermaid())
		return nil
	}
	return life.Run(ctx, c)
}
