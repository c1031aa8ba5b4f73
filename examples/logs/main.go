// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Logs prints the logs of the containers of one or more pods.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `logs prints the logs of containers.

  logs [flags] POD           one pod
  logs [flags] -l SELECTOR   all pods that this label selector matches; lines are sorted by time

Flags and names may be mixed.

  -n NAMESPACE    the namespace; default: the namespace of the kubeconfig
  -c CONTAINER    the container; default: all containers
  -f              follow the logs, also of pods that are created later; press Ctrl-C to stop
  -tail LINES     only the last lines of each container
  -since TIME     only lines that are not older than a duration such as 10m
  -p              the logs of the previous run of each container
  -t              print the time of each line
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
		return errors.New("specify either a pod or a label selector with -l; use -h for help")
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
	pods := kube.Namespaced[corev1.Pod](c, cmp.Or(*namespace, c.Namespace()))
	for _, name := range names { // a named pod must exist, but a selector may match no pods
		pod, err := pods.Get(ctx, name, nil)
		if err != nil {
			return err
		}
		if err := checkContainer(pod, o.Log.Container); err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil {
				fmt.Fprintf(os.Stderr, "logs: container %s of pod %s is waiting: %s\n", status.Name, name, waiting.Reason)
			}
		}
	}
	return printLogs(ctx, pods, &o, out)
}

// checkContainer returns an error if the pod has no container of the name. An empty name means all containers.
func checkContainer(pod *corev1.Pod, name string) error {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("pod %s has no container %s: it has %s", pod.Name, name, strings.Join(names, ", "))
}

func printLogs(ctx context.Context, pods *kube.API[corev1.Pod], o *kube.MergeLogsOptions, out io.Writer) error {
	n := 0
	for line, err := range kube.MergeLogs(ctx, pods, o) {
		if err != nil && ctx.Err() != nil {
			return nil // the user pressed Ctrl-C
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
		fmt.Fprintln(os.Stderr, "no log lines found")
	}
	return nil
}
