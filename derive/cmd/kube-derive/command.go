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

// streams are where a command writes: what was asked for to out, what else there is to say to err.
type streams struct {
	out, err io.Writer
	patience time.Duration // how long a command may take before it says how far it is
}

// command is one of the things that kube-derive does. One is called by its name, or else by no name at all.
type command struct {
	name  string // "" for what is done when no command is named
	args  string // what stands behind the name, such as "[flags] [packages]"
	short string // what it does, in a line without a full stop, for the list of commands
	long  string // what it does, with an example

	// prepare defines the flags, and returns what to do once they are read.
	prepare func(flags *flag.FlagSet) action
}

// action is what a command does. The arguments are those that are not flags; it returns the exit code.
type action func(ctx context.Context, args []string, std streams) int

// call reads the arguments and acts. Flags may stand before, between and behind the others.
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

// misused says what is wrong with a call, and how it is done.
func (c *command) misused(std streams, msg string) int {
	fmt.Fprintf(std.err, "%s: %s\nusage: %s %s; see %s -h\n", c.fullName(), msg, c.fullName(), c.args, c.fullName())
	return exitUsage
}

func (c *command) fullName() string { return strings.TrimSpace("kube-derive " + c.name) }

// printHelp explains the command.
func (c *command) printHelp(w io.Writer) {
	fmt.Fprintf(w, "usage: %s %s\n\n%s\n\n", c.fullName(), c.args, strings.TrimSpace(c.long))
	if c.name == "" {
		fmt.Fprintln(w, "commands:")
		for _, other := range commands() {
			fmt.Fprintf(w, "  %-9s %s\n", other.name, other.short)
		}
		fmt.Fprintf(w, "  %-9s %s\n  %-9s %s\n\n", "help", "say more about a command", "version", "say which version this is")
	}
	flags := flag.NewFlagSet(c.fullName(), flag.ContinueOnError)
	flags.SetOutput(w)
	c.prepare(flags)
	fmt.Fprintln(w, "flags:")
	flags.PrintDefaults()
}
