// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Logs prints what containers have written, of one pod or of many.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `logs prints what containers have written.

  logs [OPTION...] POD           one pod
  logs [OPTION...] -l SELECTOR   all pods with these labels, line by line in the order of time

Options may stand anywhere.

  -n NAMESPACE    default: the kubeconfig's
  -c CONTAINER    default: all containers
  -f              go on with what is written from now on, also by pods that come; end with Ctrl-C
  -tail LINES     only the last lines of each container
  -since TIME     only what is not older than, such as 10m
  -p              what the containers have written before they were restarted
  -t              begin each line with its time
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "logs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out io.Writer) error {
	flags := flag.NewFlagSet("logs", flag.ContinueOnError)
	namespace := flags.String("n", "", "")
	tail := flags.Int64("tail", -1, "")
	var o kube.MergeLogsOptions
	flags.StringVar(&o.LabelSelector, "l", "", "")
	flags.StringVar(&o.Log.Container, "c", "", "")
	flags.BoolVar(&o.Log.Follow, "f", false, "")
	flags.BoolVar(&o.Log.Previous, "p", false, "")
	flags.BoolVar(&o.Log.Timestamps, "t", false, "")
	flags.DurationVar(&o.Log.Since, "since", 0, "")
	names, err := args.Parse(flags, line)
	switch {
	case err != nil:
		return err
	case (len(names) == 1) == (o.LabelSelector != "") || len(names) > 1:
		return errors.New("name a pod, or select some with -l; -h says more")
	case len(names) == 1:
		o.FieldSelector = "metadata.name=" + names[0]
	}
	if *tail >= 0 {
		o.Log.TailLines = tail
	}
	o.OnError = func(pod kube.ObjectRef, container string, err error) {
		fmt.Fprintf(os.Stderr, "logs: container %s of pod %s: %v\n", container, pod, err)
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if *namespace == "" {
		*namespace = c.Namespace()
	}
	pods := kube.Namespaced[corev1.Pod](c, *namespace)
	for _, name := range names { // nothing that is selected would be no mistake
		pod, err := pods.Get(ctx, name, nil)
		if err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil {
				fmt.Fprintf(os.Stderr, "logs: container %s of pod %s does not run: %s\n", status.Name, name, waiting.Reason)
			}
		}
	}
	return printLogs(ctx, pods, &o, out)
}

func printLogs(ctx context.Context, pods *kube.API[corev1.Pod], o *kube.MergeLogsOptions, out io.Writer) error {
	n := 0
	for line, err := range kube.MergeLogs(ctx, pods, o) {
		if err != nil && ctx.Err() != nil {
			return nil // Ctrl-C is how one stops to follow
		}
		if err != nil {
			return err
		}
		n++
		stamp, end := "", "\n"
		if o.Log.Timestamps {
			stamp = line.Time.Format(time.RFC3339Nano) + " "
		}
		if line.Partial {
			end = ""
		}
		if _, err := fmt.Fprintf(out, "%s/%s %s%s%s", line.Pod.Name, line.Container, stamp, line.Text, end); err != nil {
			return err
		}
	}
	if n == 0 {
		fmt.Fprintln(os.Stderr, "nothing was written")
	}
	return nil
}
