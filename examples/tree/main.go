// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Tree prints an object with all that it owns, directly or through others.
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

const usage = `tree prints an object with all that it owns, of whatever kinds, directly or through others.

  tree [flags] RESOURCE NAME, or RESOURCE/NAME

RESOURCE is a name (deployments), a short name (deploy), a kind (Deployment), or one of these with a group
(deployments.apps). Flags may stand anywhere.

  -n NAMESPACE   the namespace of the object; default: the kubeconfig's

  tree deploy web
  tree -n kube-system ds kube-proxy

READY is the object's own Ready condition, or else its Available, Complete or Established one. What could not be looked
at is listed at the end, and makes the exit status 1.
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
		return fmt.Errorf("%s live in no namespace: leave out -n", res)
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
		return fmt.Errorf("there may be more, since this could not be looked at:\n%w", errors.Join(failures...))
	}
	return nil
}

// parse reads the command line.
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
		return nil, "", errors.New("name a resource and an object, such as deploy web; -h says more")
	}
	return words, namespace, nil
}

// progressOn returns what shows a line while something takes its time, and an empty line clears it. It is for people:
// what is not a terminal does not get it.
func progressOn(f *os.File) func(string) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(line string) { fmt.Fprintf(f, "\r\x1b[K%s", line) }
}
