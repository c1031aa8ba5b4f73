// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Secret-users logs the pods whose secrets change, in one or several namespaces.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `secret-users logs the pods whose secrets change. A line NAMESPACE/POD of the input logs that pod.

  secret-users [-n NAMESPACES]

  -n NAMESPACES   watch these namespaces, separated by commas; default: all namespaces
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	switch err := run(ctx, os.Args[1:], os.Stdin); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case ctx.Err() == nil && err != nil:
		fmt.Fprintln(os.Stderr, "secret-users:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, in io.Reader) error {
	flags := flag.NewFlagSet("secret-users", flag.ContinueOnError)
	namespaces := flags.String("n", "", "")
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
	ctl := newController(kube.NewCache(c, nil), strings.Split(*namespaces, ",")).Watches(kube.On(pods(in)))
	return ctl.Run(ctx, report)
}

// newController returns a controller of the pods in some namespaces, which also runs for a pod when one of its secrets
// changes. The cache holds only the metadata of secrets.
func newController(cache *kube.Cache, namespaces []string) *kube.Controller[corev1.Pod] {
	var pods []*kube.View[corev1.Pod]
	var secrets []*kube.View[metav1.PartialObjectMetadata]
	users := make(map[string]*kube.Index[corev1.Pod, string])
	for _, ns := range namespaces {
		view := kube.ViewOf[corev1.Pod](cache, &kube.Selection{Namespace: ns})
		pods = append(pods, view)
		users[ns] = kube.IndexBy(view, secretsOf)
		secrets = append(secrets, kube.MetadataOf[corev1.Secret](cache, &kube.Selection{Namespace: ns}))
	}
	ctl := kube.NewController(kube.ForView(pods[0], pods[1:]...), nil)
	changed := kube.SourceView(secrets[0], secrets[1:]...)
	return ctl.Watches(changed.Map(func(_ context.Context, s *metav1.PartialObjectMetadata) ([]kube.ObjectRef, error) {
		index := users[s.Namespace]
		if index == nil {
			index = users[""] // all namespaces
		}
		var refs []kube.ObjectRef
		for pod, err := range index.All(s.Namespace + "/" + s.Name) {
			if err != nil {
				return nil, err
			}
			refs = append(refs, kube.RefOf(pod))
		}
		return refs, nil
	}))
}

// secretsOf returns the secrets in the volumes and variables of a pod, and those with which its images are pulled.
func secretsOf(pod *corev1.Pod) (names []string) {
	use := func(name string) { names = append(names, pod.Namespace+"/"+name) }
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			use(v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				use(s.Secret.Name)
			}
		}
	}
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for _, c := range pod.Spec.EphemeralContainers {
		containers = append(containers, corev1.Container(c.EphemeralContainerCommon))
	}
	for _, c := range containers {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				use(from.SecretRef.Name)
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				use(env.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for _, s := range pod.Spec.ImagePullSecrets {
		use(s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pods yields the pods that the lines of the input name.
func pods(in io.Reader) func(context.Context) iter.Seq[kube.Key] {
	lines := make(chan string)
	go func() { // until the end of the input, or of the program
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return func(ctx context.Context) iter.Seq[kube.Key] {
		return func(yield func(kube.Key) bool) {
			for {
				select {
				case line, ok := <-lines:
					namespace, name, _ := strings.Cut(line, "/")
					if !ok || !yield(kube.Key{Ref: kube.ObjectRef{Namespace: namespace, Name: name}}) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

// report logs the secrets of a pod. The records of the logger also have the cause.
func report(ctx context.Context, pod *corev1.Pod) (kube.Action, error) {
	if names := secretsOf(pod); len(names) > 0 {
		kube.Logger(ctx).Info("a pod uses secrets", "secrets", strings.Join(names, " "))
	}
	return kube.AwaitChange(), nil
}
