// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Tree prints an object and all objects that it owns, directly or indirectly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `tree prints an object and all objects of any kind that it owns, directly or indirectly.

  tree [flags] RESOURCE NAME
  tree [flags] RESOURCE/NAME

RESOURCE is a name (deployments), a short name (deploy), a kind (Deployment), or one of these with a group
(deployments.apps). Flags and names may be mixed.

  -n NAMESPACE   the namespace of the object; default: the namespace of the kubeconfig

  tree deploy web
  tree -n kube-system ds kube-proxy

READY is the status of the first of the conditions Ready, Available, Complete and Established that the object has.
Requests that failed are listed at the end, and the exit status is then 1.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "tree:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out io.Writer, notes *os.File) error {
	words, namespace, err := parse(line)
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
	res, err := disc.Resolve(words[0])
	if err != nil {
		return err
	}
	switch {
	case !res.Namespaced && namespace != "":
		return fmt.Errorf("%s are not namespaced: omit -n", res)
	case res.Namespaced && namespace == "":
		namespace = c.Namespace()
	}
	root, err := kube.Dynamic(c, res).In(namespace).Metadata().Get(ctx, words[1], nil)
	if err != nil {
		return err
	}
	s := &survey{client: c, progress: progressOn(notes)}
	failures := s.collect(ctx, disc, namespace)
	top := s.tree(node{ref: res, meta: &root.ObjectMeta})
	failures = append(failures, s.examine(ctx, top)...)
	s.progress("")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := show(out, top, time.Now()); err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("the tree may be incomplete:\n%w", errors.Join(failures...))
	}
	return nil
}

// parse parses the command line.
func parse(line []string) (words []string, namespace string, err error) {
	flags := flag.NewFlagSet("tree", flag.ContinueOnError)
	flags.StringVar(&namespace, "n", "", "")
	words, err = args.Parse(flags, line)
	if err != nil {
		return nil, "", err
	}
	if len(words) == 1 { // deploy/web
		words = strings.Split(words[0], "/")
	}
	if len(words) != 2 {
		return nil, "", errors.New("specify a resource and a name, such as deploy web; use -h for help")
	}
	return words, namespace, nil
}

// progressOn returns a function that replaces the progress line on the terminal f. An empty line clears it. If f is not
// a terminal, the function does nothing.
func progressOn(f *os.File) func(string) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(line string) { fmt.Fprintf(f, "\r\x1b[K%s", line) }
}
