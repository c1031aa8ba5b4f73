// Widget-controller reconciles objects of the kind Widget. Its work is in package controller; this is the program that one
// deploys.
//
//kube:output crds=config/crd rbac=config/rbac roleName=widget-controller
package main

//go:generate go tool kube-derive ./...

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/kube-go/sdk/kube"

	"example.com/kube-project/internal/controller"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "widget-controller:", err)
		os.Exit(1)
	}
}

// run runs the controller on the cluster of the kubeconfig, or else on the one that the program runs in.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("widget-controller", flag.ContinueOnError)
	install := flags.Bool("install", false, "install the CustomResourceDefinition first")
	probes := flags.String("probes", "", "the `address` to answer probes on, such as :8081 (default none)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if *install {
		if err := controller.Install(ctx, c); err != nil {
			return err
		}
	}
	logger.Info("running", "server", c.Server())
	ctl := controller.New(c, logger)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return ctl.Run(ctx) })
	if *probes != "" {
		group.Go(func() error { return serve(ctx, *probes, answer(ctl.Ready)) })
	}
	return group.Wait()
}
