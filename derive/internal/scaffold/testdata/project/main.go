// Widget-controller runs the controllers of this project. They are in package controller; this is the program to deploy.
//
//kube:output crds=config/crd rbac=config/rbac roleName=widget-controller webhooks=config/webhook
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

	"github.com/kube-go/sdk/kube"

	"example.com/kube-project/internal/controller"
)

// The replicas compete for a lease in the namespace that they run in:
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=widget-system,resources=leases,verbs=get;create;update

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "widget-controller:", err)
		os.Exit(1)
	}
}

// run runs the controllers on the cluster of the kubeconfig, or else on the cluster that the program runs in.
func run(ctx context.Context, args []string) error {
	options := &kube.ManagerOptions{}
	flags := flag.NewFlagSet("widget-controller", flag.ContinueOnError)
	install := flags.Bool("install", false, "install the CustomResourceDefinitions first")
	flags.StringVar(&options.LeaderElection, "lease", "", "the `name` of the lease of the leader (default no election)")
	flags.StringVar(&options.HealthAddr, "health", "", "the `address` of /livez and /readyz, such as :8081 (default none)")
	flags.StringVar(&options.MetricsAddr, "metrics", "", "the `address` of /metrics, such as :8080 (default none)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if *install {
		if err := controller.Install(ctx, c); err != nil {
			return err
		}
	}
	slog.Info("running", "server", c.Server())
	m := kube.NewManager(c, options)
	controller.Add(m, c)
	return m.Run(ctx)
}
