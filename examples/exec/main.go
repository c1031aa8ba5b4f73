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
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

const usage = `exec runs a command in a container of a pod, and exits as the command does.

  exec [-n NAMESPACE] [-c CONTAINER] [-i] [-t] POD COMMAND [ARGUMENT...]

  -i   pass on the standard input
  -t   give the command a terminal, as large as this one
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	var exit *kube.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.Code) // the command has said what was wrong
	case err != nil && !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "exec:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	namespace := flags.String("n", "", "")
	o := &kube.ExecOptions{StallTimeout: -1} // whoever stops the screen may take his time
	flags.StringVar(&o.Container, "c", "", "")
	flags.BoolVar(&o.Stdin, "i", false, "")
	flags.BoolVar(&o.TTY, "t", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return errors.New("name a pod and a command; -h says more")
	}
	o.Command = flags.Args()[1:]
	if o.TTY && !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("-t needs a terminal here, too; leave it out")
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	if *namespace == "" {
		*namespace = c.Namespace()
	}
	p, err := kube.Namespaced[corev1.Pod](c, *namespace).Exec(ctx, flags.Arg(0), o)
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
