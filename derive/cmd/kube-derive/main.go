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

// tune makes the collector run less often, up to a limit, in this process and in the go commands that it calls: they end
// soon. What the environment says goes first.
func tune() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const percent, limit = 400, 1 << 30 // the limit is in bytes
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	_ = os.Setenv("GOGC", strconv.Itoa(percent)) // the names are valid, so there is no error
	_ = os.Setenv("GOMEMLIMIT", strconv.Itoa(limit))
}

// The exit codes.
const (
	exitOK    = 0
	exitWrong = 1 // mistakes in the sources, stale files, incompatible changes
	exitUsage = 2 // the call makes no sense
)

// commands are what the first argument may say, in the order in which help lists them.
func commands() []*command {
	var list []*command
	for _, g := range generators() {
		list = append(list, g.command())
	}
	return append(list, diffCommand(), initCommand())
}

// run does what the arguments say, and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	all := everything().command()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !isVersion(args[0]) || isPattern(args[0]) {
		return all.call(ctx, args, std)
	}
	switch name, rest := args[0], args[1:]; {
	case isVersion(name):
		fmt.Fprintf(std.out, "kube-derive %s\n", version())
		return exitOK
	case name == "help":
		return help(rest, std)
	case find(name) != nil:
		return find(name).call(ctx, rest, std)
	default:
		fmt.Fprintf(std.err, "kube-derive: %s\n", unknown(name))
		return exitUsage
	}
}

func isVersion(arg string) bool { return arg == "version" || arg == "-version" || arg == "--version" }

// isPattern reports whether an argument means packages: it has a dot or a slash, which no command has.
func isPattern(arg string) bool { return strings.ContainsAny(arg, `./\`) }

// find returns the command of a name, nil when there is none.
func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// unknown says what a word might have meant.
func unknown(name string) string {
	names := []string{"help", "version"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	msg := fmt.Sprintf("there is no command %q", name)
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("%s; did you mean %s? For a package, write ./%s", msg, near, name)
	}
	return fmt.Sprintf("%s, see kube-derive help; for a package, write ./%s", msg, name)
}

// help prints what a command does, or what commands there are.
func help(args []string, std streams) int {
	if len(args) == 0 || args[0] == "help" {
		everything().command().printHelp(std.out)
		return exitOK
	}
	if c := find(args[0]); c != nil {
		c.printHelp(std.out)
		return exitOK
	}
	fmt.Fprintf(std.err, "kube-derive: %s\n", unknown(args[0]))
	return exitUsage
}

// version returns the version of the module that the command was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
