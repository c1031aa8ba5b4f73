// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Apply applies the objects in files to a cluster with server-side apply.
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
	"syscall"
	"time"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `apply applies the objects in files to a cluster with server-side apply.

  apply [flags] -f PATH [-f PATH...]

  -f PATH               a YAML or JSON file, a directory of such files, or - for standard input; may be repeated
  -n NAMESPACE          the namespace of objects without one; default: the namespace of the kubeconfig
  -field-manager NAME   the field manager that owns the applied fields; default: apply
  -force                take ownership of fields that other field managers own with different values
  -dry-run              let the server validate the objects without storing them
  -applyset NAME        make the objects an apply set. Its parent is the Secret NAME in the namespace, the ConfigMap for
                        configmap/NAME, or a custom resource for widgets.example.com/NAME, if the definition of its kind
                        has the label applyset.kubernetes.io/is-parent-type
  -prune                delete objects of the apply set that are no longer in the files
  -timeout DURATION     how long to wait until a new kind is served; default: 1m

  apply -f web.yaml
  apply -f manifests -applyset web -prune
  generate | apply -dry-run -f -

Namespaces are applied first, then CustomResourceDefinitions, then all other objects in the order of the files. If an
object cannot be applied, the other objects are still applied, nothing is pruned, and the exit status is 1.
`

// options are the options of the command line.
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
	o.namespace = cmp.Or(o.namespace, c.Namespace())
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

// parse parses the command line.
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
		return o, fmt.Errorf("unexpected argument %q: specify files with -f; use -h for help", words[0])
	case len(o.files) == 0:
		return o, errors.New("specify files with -f; use -h for help")
	case o.prune && o.applySet == "":
		return o, errors.New("-prune requires -applyset, which records the objects that were applied before")
	}
	return o, nil
}
