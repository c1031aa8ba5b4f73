// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Exec runs a command in a container of a pod, optionally with a terminal.
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
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/kube-go/sdk/kube"
)

const usage = `exec runs a command in a container of a pod and exits with the status of the command.

  exec [flags] POD [flags] [--] COMMAND [ARGUMENT...]

  -n NAMESPACE   the namespace of the pod; default: the namespace of the kubeconfig
  -c CONTAINER   the container; required if the pod has several
  -i             pass the standard input to the command
  -t             give the command a terminal of the size of this one
  -it            the same as -i -t

  exec web-0 ls -l /var/www
  exec -it web-0 -- sh
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	exit, exited := errors.AsType[*kube.ExitError](err)
	switch {
	case exited:
		os.Exit(exit.Code) // the command has already printed its own error
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
	p, err := kube.Pods(c, cmp.Or(namespace, c.Namespace())).Exec(ctx, pod, o)
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

// parse parses the command line. Flags come before or after the pod; the rest is the command.
func parse(line []string) (namespace, pod string, o *kube.ExecOptions, err error) {
	o = &kube.ExecOptions{StallTimeout: -1} // no timeout: a user may pause the output with Ctrl-S
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the help text and the errors
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
		err = fmt.Errorf("%w; use -h for help", err)
	case len(o.Command) == 0:
		err = errors.New("specify a pod and a command; use -h for help")
	case o.TTY && !term.IsTerminal(int(os.Stdin.Fd())):
		err = errors.New("-t requires a terminal as standard input: omit -t")
	}
	return namespace, pod, o, err
}

// runTerminal connects the process to this terminal. The terminal is in raw mode, so the process handles all keys.
func runTerminal(p *kube.Process, in io.Reader) error {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return err
	}
	defer term.Restore(fd, before) //nolint:errcheck // the program is about to exit
	done := make(chan struct{})
	var sizing sync.WaitGroup
	sizing.Go(func() { keepSize(p, done) })
	defer sizing.Wait()
	defer close(done)
	return p.Run(in, os.Stdout, nil)
}

// keepSize reports the size of the terminal to the process whenever it changes. It polls, because not every operating
// system signals a change.
func keepSize(p *kube.Process, done <-chan struct{}) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for width, height := 0, 0; ; {
		w, h, err := term.GetSize(int(os.Stdout.Fd()))
		if err == nil && (w != width || h != height) {
			width, height = w, h
			if p.Resize(uint16(w), uint16(h)) != nil {
				return // the process has ended
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}
