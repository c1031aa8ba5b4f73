// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Apply makes a cluster have what files say, by server-side apply.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `apply makes a cluster have what files say, by server-side apply.

  apply [flags] -f PATH [-f PATH...]

  -f PATH               a YAML or JSON file, a directory of them, or - for standard input; may be repeated
  -n NAMESPACE          the namespace of objects that name none; default: the kubeconfig's
  -field-manager NAME   who owns what is applied; default: apply
  -force                take over fields that others own with other values
  -dry-run              let the server check all, and store nothing
  -applyset NAME        label the objects as a set, which is remembered in the Secret NAME of the namespace;
                        configmap/NAME remembers it in a ConfigMap, and widgets.example.com/NAME in an object of a kind
                        whose definition is labelled applyset.kubernetes.io/is-parent-type
  -prune                delete what the set had before, and the files have no more
  -timeout DURATION     how long to wait for new kinds to be served; default: 1m

  apply -f web.yaml
  apply -f manifests -applyset web -prune
  generate | apply -dry-run -f -

Namespaces are applied first, then CustomResourceDefinitions, then the rest in the order of the files. When something can't
be applied, the rest is all the same, nothing is pruned, and the exit status is 1.
`

// options are what is asked for.
type options struct {
	files     []string
	namespace string
	manager   string
	force     bool
	dryRun    bool
	applySet  string
	prune     bool
	timeout   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "apply:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, in io.Reader, out, notes io.Writer) error {
	o, err := parse(line)
	if err != nil {
		return err
	}
	objects, err := read(o.files, in)
	if err != nil {
		return err
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if o.namespace == "" {
		o.namespace = c.Namespace()
	}
	a := newApplier(c, o, out, notes)
	if o.applySet == "" {
		return a.all(ctx, objects)
	}
	set, err := openSet(ctx, a, objects)
	if err != nil {
		return fmt.Errorf("apply set %s: %w", o.applySet, err)
	}
	if err := a.all(ctx, objects); err != nil {
		return err
	}
	if !o.prune {
		return nil
	}
	if err := set.prune(ctx); err != nil {
		return fmt.Errorf("prune apply set %s: %w", o.applySet, err)
	}
	return nil
}

// parse reads the command line.
func parse(line []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("apply", flag.ContinueOnError)
	flags.Func("f", "", func(path string) error {
		o.files = append(o.files, path)
		return nil
	})
	flags.StringVar(&o.namespace, "n", "", "")
	flags.StringVar(&o.manager, "field-manager", "apply", "")
	flags.BoolVar(&o.force, "force", false, "")
	flags.BoolVar(&o.dryRun, "dry-run", false, "")
	flags.StringVar(&o.applySet, "applyset", "", "")
	flags.BoolVar(&o.prune, "prune", false, "")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "")
	words, err := args.Parse(flags, line)
	switch {
	case err != nil:
		return o, err
	case len(words) > 0:
		return o, fmt.Errorf("what is %q? Files are named by -f; -h says more", words[0])
	case len(o.files) == 0:
		return o, errors.New("name the files by -f; -h says more")
	case o.prune && o.applySet == "":
		return o, errors.New("-prune needs -applyset, which remembers what was applied before")
	}
	return o, nil
}
