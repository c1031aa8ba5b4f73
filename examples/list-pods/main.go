// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// List-pods prints the pods of one namespace or of all namespaces.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `list-pods prints pods.

  list-pods [-n NAMESPACE] [-l SELECTOR]

  -n NAMESPACE   only pods of this namespace; default: all namespaces
  -l SELECTOR    only pods that this label selector matches, such as app=web
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "list-pods:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out io.Writer) error {
	flags := flag.NewFlagSet("list-pods", flag.ContinueOnError)
	namespace := flags.String("n", "", "")
	selector := flags.String("l", "", "")
	words, err := args.Parse(flags, line)
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return fmt.Errorf("unexpected argument %q; use -h for help", words[0])
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	pods := kube.ClusterWide[corev1.Pod](c)
	if *namespace != "" {
		pods = pods.In(*namespace)
	}

	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tNAME\tPHASE\tNODE")
	n := 0
	for pod, err := range pods.All(ctx, &kube.ListOptions{LabelSelector: *selector}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", pod.Namespace, pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		n++
	}
	if n == 0 {
		fmt.Fprintln(os.Stderr, "no pods found")
		return nil
	}
	return table.Flush()
}
