// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubecluster runs a real Kubernetes control plane, and optionally a node, on this machine. It builds all
// programs from Go modules the first time, and needs no container engine. `kubecluster help` describes its use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/kube-go/sdk/tests/cluster"
)

const usage = `kubecluster runs a real Kubernetes on this machine, built from Go modules.

  kubecluster up [--node] [--kubeconfig FILE] [--kubernetes-version VERSION]
                         start a cluster that stays up; the first time, build it, which takes minutes
  kubecluster status     print the state of each component
  kubecluster list       print the clusters
  kubecluster logs COMPONENT [--follow]
                         print the log of a component, and with --follow what it writes until it ends
  kubecluster load FILE  load the container images of an archive into the node: docker save IMAGE | kubecluster load -
  kubecluster down       stop the cluster and remove its files

Flags of all commands:
  --name NAME            the name of the cluster (default "default")
  --cache DIR            the directory of programs and clusters (default $KUBECLUSTER_CACHE, or .cache/kubecluster
                         beside the nearest go.work or go.mod)

Flags of up:
  --node                 add a node that runs containers; needs root, and reports what else is missing
  --kubeconfig FILE      also write the kubeconfig to this file, unless another program wrote it
  --kubernetes-version VERSION
                         a released version (default ` + cluster.DefaultKubernetesVersion + `)
  --api-port PORT        the API server's port (default: a free one)
  --api-server-arg ARG   add an argument to the API server's, or replace the same flag of kubecluster; may be repeated
  --feature-gate NAME=true|false
                         set a feature gate of every component; may be repeated
  --ready-timeout TIME   the time in which the cluster must be ready once it is built (default 1m, or 2m with a node)
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage refers to the usage text.
var errUsage = errors.New("run `kubecluster help` for help")

// run executes the command. Exit code 2 is an error in the command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "kubecluster: %v\n", err)
		return 2
	default:
		fmt.Fprintf(stderr, "kubecluster: %v\n", err)
		return 1
	}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return fmt.Errorf("missing command; %w", errUsage)
	}
	verb := args[0]
	if verb == "help" || verb == "-h" || verb == "--help" {
		_, err := io.WriteString(stdout, usage)
		return err
	}
	c := command{name: "default", stdout: stdout, stderr: stderr}
	commands := map[string]struct {
		run       func(context.Context) error
		arguments int
	}{
		"up": {c.up, 0}, "down": {c.down, 0}, "status": {c.status, 0}, "list": {c.list, 0}, "logs": {c.logs, 1},
		"load": {c.load, 1},
	}
	chosen, ok := commands[verb]
	if !ok {
		return fmt.Errorf("unknown command %q; %w", verb, errUsage)
	}
	switch err := c.parse(verb, args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		_, err := io.WriteString(stdout, usage)
		return err
	case err != nil:
		return err
	case len(c.arguments) != chosen.arguments:
		return fmt.Errorf("%s takes %d arguments, not %d; %w", verb, chosen.arguments, len(c.arguments), errUsage)
	}
	return chosen.run(ctx)
}

// command is a parsed command line.
type command struct {
	name, cache    string
	cacheGiven     bool // cache is from the command line
	cacheFound     bool // cache follows from the working directory
	arguments      []string
	kubeconfig     string
	follow         bool
	options        cluster.Options
	stdout, stderr io.Writer
}

// validName matches the names of clusters, which become names of folders. It is never changed.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// parse parses the flags, which may precede and follow arguments.
func (c *command) parse(verb string, args []string) error {
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is complete
	flags.StringVar(&c.name, "name", c.name, "")
	flags.StringVar(&c.cache, "cache", c.cache, "")
	switch verb {
	case "up":
		flags.BoolVar(&c.options.Node, "node", false, "")
		flags.StringVar(&c.kubeconfig, "kubeconfig", "", "")
		flags.StringVar(&c.options.KubernetesVersion, "kubernetes-version", "", "")
		flags.IntVar(&c.options.APIPort, "api-port", 0, "")
		flags.Func("api-server-arg", "", func(arg string) error {
			c.options.APIServerArgs = append(c.options.APIServerArgs, arg)
			return nil
		})
		flags.Func("feature-gate", "", c.featureGate)
		flags.DurationVar(&c.options.ReadyTimeout, "ready-timeout", 0, "")
	case "logs":
		flags.BoolVar(&c.follow, "follow", false, "")
	}
	for rest := args; ; {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: %w; %w", verb, err, errUsage)
		}
		if flags.NArg() == 0 {
			break
		}
		c.arguments = append(c.arguments, flags.Arg(0))
		rest = flags.Args()[1:]
	}
	flags.Visit(func(f *flag.Flag) { c.cacheGiven = c.cacheGiven || f.Name == "cache" })
	c.cacheFound = !c.cacheGiven && !filepath.IsAbs(os.Getenv("KUBECLUSTER_CACHE"))
	if !validName.MatchString(c.name) {
		return fmt.Errorf("the name %q is invalid: use a-z, 0-9 and -; %w", c.name, errUsage)
	}
	if c.cache == "" {
		dir, err := cluster.DefaultCacheDir()
		if err != nil {
			return err
		}
		c.cache = dir
	}
	absolute, err := filepath.Abs(c.cache)
	c.cache = absolute
	return err
}

func (c *command) featureGate(pair string) error {
	name, value, _ := strings.Cut(pair, "=")
	if name == "" || value != "true" && value != "false" {
		return errors.New("want NAME=true or NAME=false")
	}
	if c.options.FeatureGates == nil {
		c.options.FeatureGates = map[string]bool{}
	}
	c.options.FeatureGates[name] = value == "true"
	return nil
}

func (c *command) dir() string { return filepath.Join(c.cache, "clusters", c.name) }

// open returns the cluster, or an error that says how to start one.
func (c *command) open() (*cluster.Cluster, error) {
	opened, err := cluster.Open(c.dir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the cluster %q is not up; start it with `%s`", c.name, c.line("up"))
	}
	return opened, err
}

// line returns the command line of another command for this cluster. It works in the working directory of this one.
func (c *command) line(command string) string { return c.lineOf(program(), command) }

func (c *command) lineOf(program, command string) string {
	line := program + " " + command
	if c.name != "default" {
		line += " --name " + c.name
	}
	if c.cacheGiven || c.cacheFound && strings.HasPrefix(line, "go -C ") { // which would find another one
		line += " --cache " + quote(c.cache)
	}
	return line
}

// quote quotes a path for a shell, if necessary.
func quote(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// plainPath matches paths that need no quotes, and released matches versions that are not a commit's. They are never
// changed.
var (
	plainPath = regexp.MustCompile(`^[\w./@%+=:,-]+$`)
	released  = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)
)

// program returns how to run this program: by its name if it is in PATH, or else with the go command.
func program() string {
	if _, err := exec.LookPath("kubecluster"); err == nil {
		return "kubecluster"
	}
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, source, _, _ := runtime.Caller(0)
	return goRun(version, source)
}

// goRun returns the command that runs this program with the go command. version is that of its module. source is the
// path of this file, which is not absolute if the program was built with -trimpath.
func goRun(version, source string) string {
	const path = "github.com/kube-go/sdk/tests/cluster/cmd/kubecluster"
	if released.MatchString(version) {
		return "go run " + path + "@" + version
	}
	module := filepath.Dir(filepath.Dir(filepath.Dir(source)))
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil || !filepath.IsAbs(module) {
		return "go run " + path
	}
	return "go -C " + quote(module) + " run ./cmd/kubecluster"
}
