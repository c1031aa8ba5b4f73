// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Wasm-node is a node whose containers are WebAssembly modules. The life of a pod is a state machine, in package life.
// With -graph, wasm-node only prints its diagram.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kube-go/sdk/examples/wasm-node/life"
	"github.com/kube-go/sdk/examples/wasm-node/node"
	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "wasm-node:", err)
		os.Exit(1)
	}
}

// maxMemory is the maximum size of a WebAssembly memory in bytes.
const maxMemory = int64(4 << 30)

func run(ctx context.Context, args []string) error {
	var o node.Options
	flags := flag.NewFlagSet("wasm-node", flag.ContinueOnError)
	flags.StringVar(&o.Name, "name", "wasm", "the name of the node")
	flags.StringVar(&o.Address, "address", "127.0.0.1", "the IP address of the node, which the API server must reach")
	flags.IntVar(&o.Port, "port", 0, "the port for logs; 0 means a free one")
	flags.StringVar(&o.Images, "images", "", "the directory of the images file:PATH")
	flags.Int64Var(&o.Memory, "memory", 256<<20, "the maximum memory of a container, in bytes")
	flags.Int64Var(&o.Pods, "pods", 100, "the maximum number of pods")
	flags.DurationVar(&o.BackOff, "back-off", 10*time.Second, "the first delay before a container is restarted again")
	graph := flags.Bool("graph", false, "print the states and transitions as a Mermaid diagram, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Memory <= 0 || o.Memory > maxMemory {
		return fmt.Errorf("-memory is %d, want more than 0 and at most %d", o.Memory, maxMemory)
	}
	if *graph {
		c, err := new(life.Memory).Client(ctx)
		if err != nil {
			return err
		}
		fmt.Print(life.New(c, new(life.Env), nil).Graph().Mermaid())
		return nil
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	return node.Run(ctx, c, o)
}
