// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

func main() {
	tune()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr, time.Second}))
}

// tune makes the garbage collector run less often, up to a limit, in this process and in the go commands that it calls,
// since they end soon. Variables of the environment take precedence.
func tune() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const percent, limit = 400, 1 << 30 // the limit is in bytes
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	_ = os.Setenv("GOGC", strconv.Itoa(percent)) // the names are valid
	_ = os.Setenv("GOMEMLIMIT", strconv.Itoa(limit))
}

// The exit codes.
const (
	exitOK    = 0
	exitWrong = 1 // mistakes in the sources, stale files, incompatible changes
	exitUsage = 2 // invalid arguments
)

// commands returns the commands, in the order of the help.
func commands() []*command {
	var list []*command
	for _, g := range generators() {
		list = append(list, g.command())
	}
	return append(list, diffCommand(), initCommand(), addCommand())
}

// run runs the command of the arguments, and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	all := everything().command()
	if len(args) > 0 {
		if msg := ofControllerGen(args[0]); msg != "" {
			fmt.Fprintf(std.err, "kube-derive: %s\n", msg)
			return exitUsage
		}
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !isVersion(args[0]) || isPattern(args[0]) {
		return all.call(ctx, args, std)
	}
	switch name, rest := args[0], args[1:]; {
	case isVersion(name):
		fmt.Fprintf(std.out, "kube-derive %s\n", version())
		return exitOK
	case name == "help":
		return help(rest, std)
	case name == "add":
		return add(ctx, rest, std)
	case find(name) != nil:
		return find(name).call(ctx, rest, std)
	default:
		fmt.Fprintf(std.err, "kube-derive: %s\n", unknown(name))
		return exitUsage
	}
}

func isVersion(arg string) bool { return arg == "version" || arg == "-version" || arg == "--version" }

// isPattern reports whether an argument is a package pattern: it has a dot or a slash.
func isPattern(arg string) bool { return strings.ContainsAny(arg, `./\`) }

// find returns the command with a name, or nil.
func find(name string) *command {
	for _, c := range append(commands(), addCommands()...) {
		if c.name == name {
			return c
		}
	}
	return nil
}

// unknown returns the error for an unknown command, with a suggestion.
func unknown(name string) string {
	names := []string{"help", "version"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	msg := fmt.Sprintf("unknown command %q", name)
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("%s; did you mean %s? For a package, write ./%s", msg, near, name)
	}
	return fmt.Sprintf("%s, see kube-derive help; for a package, write ./%s", msg, name)
}

// help prints the help of a command, or the list of commands.
func help(args []string, std streams) int {
	if len(args) == 0 || args[0] == "help" {
		everything().command().printHelp(std.out)
		return exitOK
	}
	if args[0] == "add" && len(args) == 1 {
		addHelp(std.out)
		return exitOK
	}
	name := args[0]
	if name == "add" {
		name += " " + args[1]
	}
	if c := find(name); c != nil {
		c.printHelp(std.out)
		return exitOK
	}
	fmt.Fprintf(std.err, "kube-derive: %s\n", unknown(name))
	return exitUsage
}

// version returns the version of the module that the command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
