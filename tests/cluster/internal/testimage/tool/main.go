// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command tool is the only program in the test image, which has no shell. Its subcommands do what tests need in a
// container:
//
//	pause                    wait for SIGTERM, then exit 0
//	sleep DURATION           wait that long: "90s", "1.5h"
//	exit N                   exit with status N
//	echo [-stderr] [ARG...]  print the arguments
//	cat [FILE...]            copy the files, or otherwise standard input, to standard output
//	lines N [INTERVAL]       print "line 1" to "line N", one each interval
//	env [NAME...]            print the environment, sorted, or the values of these variables
//	ls [DIR...]              print mode, size and name of each file in the directories, by default "."
//	size                     print "ROWS COLUMNS" of the terminal, and again after each change, until input ends
//	write [-sum|-wait] SIZE  print the first SIZE bytes ("64M": 64 MiB) of a constant endless stream;
//	                         with -sum, print what `sum` prints for them; with -wait, run until input ends
//	sum                      read standard input; print its SHA-256, in hexadecimal, and its length in bytes
//	tar OPTION...            pack and unpack, see archive.go; tar is also a link to the program
//	serve PORT               serve HTTP, see serve.go, until SIGTERM, then exit 0
//	echo-server PORT         send back what each TCP connection sends, until SIGTERM, then exit 0
//	get URL                  print the response of an HTTP server; a status other than 2xx is a failure
//
// The exit status is 1 for a failure and 2 for invalid arguments, with the reason on standard error, and 143 for a
// program that SIGTERM ended.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == "tar" {
		args = append([]string{"tar"}, args...)
	}
	os.Exit(run(args, streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are a process's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is a subcommand. SIGTERM and SIGINT cancel the context of subcommands that handle signals, and end the
// others.
type command struct {
	run         func(ctx context.Context, args []string, std streams) error
	endsItself  bool
	least, most int // the number of arguments; most < 0 means no limit
}

func commands() map[string]command {
	return map[string]command{
		"pause":       {run: pause, endsItself: true},
		"sleep":       {run: sleep, least: 1, most: 1},
		"exit":        {run: exit, least: 1, most: 1},
		"echo":        {run: echo, most: -1},
		"cat":         {run: cat, most: -1},
		"lines":       {run: lines, least: 1, most: 2},
		"env":         {run: env, most: -1},
		"ls":          {run: ls, most: -1},
		"size":        {run: size},
		"write":       {run: write, least: 1, most: 2},
		"sum":         {run: sum},
		"tar":         {run: archive, least: 5, most: -1},
		"serve":       {run: serve, endsItself: true, least: 1, most: 1},
		"echo-server": {run: echoServer, endsItself: true, least: 1, most: 1},
		"get":         {run: get, least: 1, most: 1},
	}
}

// exitError makes the program exit with this status.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError reports invalid arguments.
type usageError string

func (e usageError) Error() string { return string(e) }

func run(args []string, std streams) int {
	err := dispatch(args, std)
	var status exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		fmt.Fprintln(std.err, "tool:", err)
		return 2
	default:
		fmt.Fprintln(std.err, "tool:", err)
		return 1
	}
}

func dispatch(args []string, std streams) error {
	all := commands()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(args) == 0 {
		return usageError("missing command: want one of " + strings.Join(names, ", "))
	}
	command, ok := all[args[0]]
	if !ok {
		return usageError(fmt.Sprintf("unknown command %q: want one of %s", args[0], strings.Join(names, ", ")))
	}
	rest := args[1:]
	if len(rest) < command.least || command.most >= 0 && len(rest) > command.most {
		return usageError(fmt.Sprintf("%s: wrong number of arguments: %d", args[0], len(rest)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer handleSignals(command, cancel)()
	if err := command.run(ctx, rest, std); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// handleSignals installs signal handlers: the first process of a container has no default ones. It returns a function
// that removes them.
func handleSignals(command command, cancel context.CancelFunc) func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for received := range signals {
			if command.endsItself {
				cancel()
				continue
			}
			number, _ := received.(syscall.Signal)
			os.Exit(128 + int(number))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
