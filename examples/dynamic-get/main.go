// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Dynamic-get prints objects of any kind. The kind is not known at compile time.
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

	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `dynamic-get prints objects of any kind.

  dynamic-get [-n NAMESPACE] RESOURCE        the names of all objects
  dynamic-get [-n NAMESPACE] RESOURCE NAME   one object as YAML

RESOURCE is a name (deployments), a short name (deploy), a kind (Deployment), or one of these with a group
(deployments.apps). The default of -n is the namespace of the kubeconfig.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "dynamic-get:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out io.Writer) error {
	flags := flag.NewFlagSet("dynamic-get", flag.ContinueOnError)
	namespace := flags.String("n", "", "")
	words, err := args.Parse(flags, line)
	if err != nil {
		return err
	}
	if len(words) < 1 || len(words) > 2 {
		return errors.New("specify a resource and optionally a name; use -h for help")
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		return err
	}
	res, err := disc.Resolve(words[0])
	if err != nil {
		return err
	}
	objects := kube.Dynamic(c, res)
	if res.Namespaced {
		objects = objects.In(cmp.Or(*namespace, c.Namespace()))
	}

	if len(words) == 2 {
		obj, err := objects.Get(ctx, words[1], nil)
		if err != nil {
			return err
		}
		obj.SetManagedFields(nil)
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	for obj, err := range objects.All(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, obj.GetName())
	}
	return nil
}
