// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Get prints objects of any kind in the columns that the server defines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `get prints objects of any kind in the columns that the server defines.

  get [flags] RESOURCE[,RESOURCE...] [NAME...]
  get [flags] RESOURCE/NAME

RESOURCE is a name (deployments), a short name (deploy), a kind (Deployment), one of these with a group
(deployments.apps, deployments.v1.apps), or a category (all). Flags and names may be mixed.

  -n NAMESPACE   the namespace; default: the namespace of the kubeconfig
  -A             all namespaces
  -l SELECTOR    only objects that this label selector matches, such as app=web
  -o FORMAT      table (default), wide, json, yaml, or name
  -w             watch: print objects as they change, until interrupted

  get pods -A -o wide
  get all -n kube-system
  get deploy web -o yaml
`

// formats are the values of -o.
const formats = "table, wide, json, yaml, name"

// options are the options of the command line.
type options struct {
	resources  []string
	names      []string
	namespace  string
	everywhere bool
	selector   string
	format     string
	watch      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if ctx.Err() != nil { // interrupted
		return
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "get:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out, notes io.Writer) error {
	o, err := parse(line)
	if err != nil {
		return err
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		return err
	}
	resources, err := resolve(disc, o)
	if err != nil {
		return err
	}
	p := &printer{client: c, options: o, out: out, notes: notes, several: len(resources) > 1}
	if o.format == "json" || o.format == "yaml" {
		return p.documents(ctx, resources)
	}
	return p.tables(ctx, resources)
}

// parse parses the command line.
func parse(line []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("get", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "n", "", "")
	flags.BoolVar(&o.everywhere, "A", false, "")
	flags.StringVar(&o.selector, "l", "", "")
	flags.StringVar(&o.format, "o", "table", "")
	flags.BoolVar(&o.watch, "w", false, "")
	words, err := args.Parse(flags, line)
	switch {
	case err != nil:
		return o, err
	case len(words) == 0:
		return o, errors.New("specify a resource, such as pods; use -h for help")
	case !slices.Contains(strings.Split(formats, ", "), o.format):
		return o, fmt.Errorf("-o %s is invalid: want one of %s", o.format, formats)
	case o.namespace != "" && o.everywhere:
		return o, errors.New("-n and -A exclude each other: omit one of them")
	case o.watch && (o.format == "json" || o.format == "yaml"):
		return o, fmt.Errorf("-w prints only tables and names: omit -o %s", o.format)
	}
	if resource, name, ok := strings.Cut(words[0], "/"); ok && len(words) == 1 {
		words = []string{resource, name}
	}
	o.resources, o.names = strings.Split(words[0], ","), words[1:]
	switch {
	case len(o.names) > 0 && o.selector != "":
		return o, errors.New("-l and names exclude each other: omit one of them")
	case len(o.names) > 1 && o.watch:
		return o, errors.New("-w watches one object or all objects: specify at most one name")
	case len(o.names) > 0 && o.everywhere:
		return o, errors.New("a name is unique only within a namespace: use -n instead of -A")
	}
	return o, nil
}

// resolve returns the resources that the options name. A category may include resources that do not support list; they
// are omitted.
func resolve(disc *kube.Discovery, o options) ([]kube.Resource, error) {
	var all []kube.Resource
	for _, name := range o.resources {
		found, err := disc.ResolveCategory(name)
		if err != nil {
			res, err := disc.Resolve(name)
			if err != nil {
				return nil, err
			}
			found = []kube.Resource{res}
		}
		for _, res := range found {
			switch {
			case slices.Contains(res.Verbs, "list"):
				all = append(all, res)
			case len(found) == 1:
				return nil, fmt.Errorf("cannot list %s: its only verbs are %s", res, strings.Join(res.Verbs, ", "))
			}
		}
	}
	if o.watch && len(all) > 1 {
		return nil, fmt.Errorf("-w watches one resource, but %s names %d", strings.Join(o.resources, ","), len(all))
	}
	return all, nil
}
