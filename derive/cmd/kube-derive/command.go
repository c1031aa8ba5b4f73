// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// streams are the outputs of a command: out is for its result, and err for everything else.
type streams struct {
	out, err io.Writer
	patience time.Duration // the time after which a command reports its progress
}

// command is a command of kube-derive. One of them has no name.
type command struct {
	name  string // empty for the one that runs if no command is named
	args  string // what follows the name, such as "[flags] [packages]"
	short string // what it does, in a line without a full stop, for the list of commands
	long  string // what it does, with an example

	// prepare defines the flags, and returns the action that uses their values.
	prepare func(flags *flag.FlagSet) action
}

// action is the function of a command. The arguments are those that are not flags; it returns the exit code.
type action func(ctx context.Context, args []string, std streams) int

// call parses the arguments, and runs the action. Flags may be at any place among the other arguments.
func (c *command) call(ctx context.Context, args []string, std streams) int {
	flags := flag.NewFlagSet(c.fullName(), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	act := c.prepare(flags)
	var others []string
	for len(args) > 0 {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			c.printHelp(std.out)
			return exitOK
		case err != nil:
			return c.misused(std, err.Error())
		}
		if args = flags.Args(); len(args) > 0 {
			others, args = append(others, args[0]), args[1:]
		}
	}
	return act(ctx, others, std)
}

// misused reports a mistake in the arguments, and the usage.
func (c *command) misused(std streams, msg string) int {
	fmt.Fprintf(std.err, "%s: %s\nusage: %s %s; see %s -h\n", c.fullName(), msg, c.fullName(), c.args, c.fullName())
	return exitUsage
}

func (c *command) fullName() string { return strings.TrimSpace("kube-derive " + c.name) }

// printHelp prints the help of the command.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, "usage: %s %s\n\n%s\n\n", c.fullName(), c.args, strings.TrimSpace(c.long))
	if c.name == "" {
		fmt.Fprintln(w, "commands:")
		for _, other := range commands() {
			fmt.Fprintf(w, "  %-9s %s\n", other.name, other.short)
		}
		fmt.Fprintf(w, "  %-9s %s\n  %-9s %s\n\n", "help", "print the help of a command", "version", "print the version of kube-derive")
	}
	flags := flag.NewFlagSet(c.fullName(), flag.ContinueOnError)
	flags.SetOutput(w)
	c.prepare(flags)
	fmt.Fprintln(w, "flags:")
	flags.PrintDefaults()
}
