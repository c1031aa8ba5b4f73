// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// List-pods prints the pods of a namespace, or of all of them.
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

	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "list-pods:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("list-pods", flag.ContinueOnError)
	namespace := flags.String("n", "", "list the pods of one `namespace`; default: all")
	selector := flags.String("l", "", "list the pods that this label `selector` selects, such as app=web")
	if err := flags.Parse(args); err != nil {
		return err
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
		fmt.Fprintln(os.Stderr, "no pods")
		return nil
	}
	return table.Flush()
}
