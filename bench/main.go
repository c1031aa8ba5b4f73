// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// flags are the arguments of the command.
type flags struct {
	run     string
	repeat  int
	strict  bool
	profile string
	size    size

	trial  string // the trial to run, in a child process
	server string // the URL of the parent's server, in a child process
}

// size is how much a trial does.
type size struct {
	objects int           // pods, and also config maps
	time    time.Duration // for which a trial repeats a short operation
}

func parse(args []string, out io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.run, "run", "", "measure only the figures whose names match this regular expression")
	set.IntVar(&f.size.objects, "n", 20_000, "number of pods")
	set.DurationVar(&f.size.time, "time", 400*time.Millisecond, "how long each case repeats a short operation")
	set.IntVar(&f.repeat, "repeat", 5, "how often each case runs; the table has the median and the best")
	set.BoolVar(&f.strict, "strict", false, "fail if a figure misses its bar")
	set.StringVar(&f.profile, "profile", "", "an existing folder for heap profiles of the caches; this slows the cases down")
	set.StringVar(&f.trial, "trial", "", "internal: the case to run in a child process")
	set.StringVar(&f.server, "server", "", "internal: the URL of the server of a child process")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("%q is not a flag: see bench -help", set.Arg(0))
	case f.size.objects < 1 || f.repeat < 1 || f.size.time <= 0:
		return nil, errors.New("-n, -repeat and -time must be positive")
	}
	return f, nil
}

// errMissed is returned with -strict.
var errMissed = errors.New("a figure misses its bar")

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	f, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	if f.trial != "" {
		if f.profile != "" {
			runtime.MemProfileRate = 512
		}
		return runChild(ctx, f, in, out)
	}
	pattern, err := regexp.Compile(f.run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	figures := selected(pattern)
	if len(figures) == 0 {
		return fmt.Errorf("-run %q matches no figure", f.run)
	}
	began := time.Now()
	results, failed := runTrials(ctx, f, trialsOf(figures))
	if failed != nil && !results.complete(figures) {
		return failed
	}
	fmt.Fprintf(out, "%d pods, %d rounds in %v, %s, GOMAXPROCS %d\n\n",
		f.size.objects, f.repeat, time.Since(began).Round(time.Second), runtime.Version(), runtime.GOMAXPROCS(0))
	met := printTable(out, figures, results)
	if f.strict && !met && failed == nil {
		return errMissed
	}
	return failed
}
