// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Document-controller renders documents into ConfigMaps and files. The controller is in package documents; this is the
// program to deploy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "document-controller:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("document-controller", flag.ContinueOnError)
	dir := flags.String("dir", "documents", "write the rendered files to this `directory`; if it is empty, write none")
	install := flags.Bool("install", false, "install the CustomResourceDefinition before running")
	if err := flags.Parse(args); err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if *install {
		if err := documents.Install(ctx, c); err != nil {
			return err
		}
	}
	logger.Info("running", "server", c.Server())
	return documents.Run(ctx, c, &documents.Options{
		Dir:    *dir,
		Logger: logger,
		OnResult: func(r kube.Result) {
			logger.Info("reconciled", "document", r.Key.String(), "next", r.Action.String(), "took", r.Took, "err", r.Err)
		},
	})
}
