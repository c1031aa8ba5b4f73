// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Exec runs a command in a container of a pod, with a terminal if you like.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kube-go/sdk/kube"
)

const usage = `exec runs a command in a container of a pod, and exits as the command does.

  exec [flags] POD [flags] [--] COMMAND [ARGUMENT...]

  -n NAMESPACE   the namespace of the pod; default: the kubeconfig's
  -c CONTAINER   the container; needed when the pod has several
  -i             pass on the standard input
  -t             give the command a terminal, as large as this one
  -it            both

  exec web-0 ls -l /var/www
  exec -it web-0 -- sh
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	var exit *kube.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.Code) // the command has said what was wrong
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "exec:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string) error {
	namespace, pod, o, err := parse(line)
	if err != nil {
		return err
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if namespace == "" {
		namespace = c.Namespace()
	}
	p, err := kube.Pods(c, namespace).Exec(ctx, pod, o)
	if err != nil {
		return err
	}
	defer p.Close()
	var in io.Reader
	if o.Stdin {
		in = os.Stdin
	}
	if !o.TTY {
		return p.Run(in, os.Stdout, os.Stderr)
	}
	return runTerminal(p, in)
}

// parse reads the command line. Flags stand before the pod or behind it; what comes then is the command.
func parse(line []string) (namespace, pod string, o *kube.ExecOptions, err error) {
	o = &kube.ExecOptions{StallTimeout: -1} // whoever stops the screen may take his time
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the help, and mistakes
	flags.StringVar(&namespace, "n", "", "")
	flags.StringVar(&o.Container, "c", "", "")
	flags.BoolVar(&o.Stdin, "i", false, "")
	flags.BoolVar(&o.TTY, "t", false, "")
	flags.BoolFunc("it", "", func(string) error {
		o.Stdin, o.TTY = true, true
		return nil
	})
	if err = flags.Parse(line); err == nil && flags.NArg() > 0 {
		pod = flags.Arg(0)
		err = flags.Parse(flags.Args()[1:])
	}
	o.Command = flags.Args()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = fmt.Errorf("%w; -h says more", err)
	case len(o.Command) == 0:
		err = errors.New("name a pod and a command; -h says more")
	case o.TTY && !term.IsTerminal(int(os.Stdin.Fd())):
		err = errors.New("-t needs a terminal here, too; leave it out")
	}
	return namespace, pod, o, err
}

// runTerminal connects the process with this terminal, which leaves it to the process what keys mean.
func runTerminal(p *kube.Process, in io.Reader) error {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return err
	}
	defer term.Restore(fd, before) //nolint:errcheck // there is nobody to tell
	done := make(chan struct{})
	var sizing sync.WaitGroup
	sizing.Go(func() { keepSize(p, done) })
	defer sizing.Wait()
	defer close(done)
	return p.Run(in, os.Stdout, nil)
}

// keepSize tells the process how large the terminal is, whenever that changes. Asking works on every system; signals
// would not.
func keepSize(p *kube.Process, done <-chan struct{}) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for width, height := 0, 0; ; {
		w, h, err := term.GetSize(int(os.Stdout.Fd()))
		if err == nil && (w != width || h != height) {
			width, height = w, h
			if p.Resize(uint16(w), uint16(h)) != nil {
				return // it has ended
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}
