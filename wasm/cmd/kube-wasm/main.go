// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-wasm runs Kubernetes controllers that are WebAssembly modules. `kube-wasm help` describes its use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const usage = `kube-wasm runs Kubernetes controllers that are WebAssembly modules, many in one process.

  kube-wasm run [flags] [FILE…] [-- ARG…]
                       run modules until the program is stopped: those of the files, with the arguments ARG; those of a
                       directory; those of WasmController objects
  kube-wasm inspect FILE
                       print the profile, the imports, the exports and the description of a module
  kube-wasm replay FILE RECORDING
                       repeat what a module did, without a server, and report the first difference
  kube-wasm compare FILE RECORDING
                       run a module, such as a new version, with the traffic of a recording, without a server, and report
                       the writes that differ
  kube-wasm role FILE [-recording RECORDING]… [-name NAME] [-namespace NAMESPACE] [-account NAMESPACE/NAME]
                       print a ClusterRole, or a Role in the namespace, with the permissions that a module describes, or
                       that it has used in recordings, and a binding to the service account

The name of a module of a file is the name of the file without .wasm.

Flags of run:
  -dir DIR             run the modules of a directory, which are the files *.wasm; add, replace and remove them at any
                       time
  -account NAMESPACE/NAME
                       the service account of the modules of files and of the directory, whose namespace is that of
                       their requests that name none (default: the credentials of kube-wasm, and the namespace of the
                       kubeconfig)
  -origin URL          a server, apart from the API server, that these modules may send requests to, such as
                       https://hooks.example.com; may be repeated
  -record DIR          record each instance of these modules in a file of this directory; a recording contains what the
                       module reads, such as the data of secrets
  -controller          run the WasmController objects of the cluster; each with the service account that it names
  -install             install the kind WasmController first
  -namespace NAMESPACE run only the objects of a namespace
  -files DIR           allow objects with a file, in this directory
  -cache DIR           keep pulled and compiled modules in this directory, which nobody else may write; required for
                       objects with an image
  -docker-config FILE  a docker configuration file with the credentials of registries
  -plain-http HOST     use HTTP for this registry; may be repeated
  -images PREFIX       allow only images that begin with this text, such as ghcr.io/example/; may be repeated
  -allow-origin URL    a server that objects may list in spec.origins, such as https://hooks.example.com; may be repeated;
                       their modules reach it from the network of kube-wasm (default: none)
  -kubeconfig FILE     the kubeconfig (default: $KUBECONFIG, ~/.kube/config, or the service account of the pod)
  -leader-election NAME
                       run the modules in one of several replicas, which share the lease of this name
  -health-addr ADDR    serve /livez and /readyz, such as at :8081
  -metrics-addr ADDR   serve /metrics
  -debug-addr ADDR     serve the page /debug/controllers, such as at localhost:8082
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage refers to the usage text.
var errUsage = errors.New("run `kube-wasm help` for help")

// run executes the command. Exit code 2 is an error in the command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "kube-wasm: %v\n", err)
		return 2
	default:
		fmt.Fprintf(stderr, "kube-wasm: %v\n", err)
		return 1
	}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return fmt.Errorf("missing command; %w", errUsage)
	}
	verb, args := args[0], args[1:]
	var err error
	switch verb {
	case "help", "-h", "-help", "--help":
		err = flag.ErrHelp
	case "run":
		if err = runModules(ctx, args, stderr); ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			err = nil // the program was stopped
		}
	case "inspect":
		err = inspectFile(ctx, args, stdout)
	case "replay":
		err = replayFile(ctx, args, stdout)
	case "compare":
		err = compareFile(ctx, args, stdout)
	case "role":
		err = printRole(ctx, args, stdout)
	default:
		return fmt.Errorf("unknown command %q; %w", verb, errUsage)
	}
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(stdout, usage)
	}
	return err
}

// parse parses flags, which may precede and follow the arguments, and returns the arguments. Those after -- are the
// rest.
func parse(flags *flag.FlagSet, args []string) (files, rest []string, err error) {
	flags.SetOutput(io.Discard)
	if at := slices.Index(args, "--"); at >= 0 {
		args, rest = args[:at], args[at+1:]
	}
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			if !errors.Is(err, flag.ErrHelp) {
				err = fmt.Errorf("%s: %w; %w", flags.Name(), err, errUsage)
			}
			return nil, nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			files, args = append(files, args[0]), args[1:]
		}
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" { // such as the value of a variable that is not set
			err = errors.Join(err,
				fmt.Errorf("%s: -%s is empty: set a value, or leave the flag out; %w", flags.Name(), f.Name, errUsage))
		}
	})
	return files, rest, err
}

// oneFile parses the arguments of a command that takes one file.
func oneFile(flags *flag.FlagSet, args []string) (string, error) {
	files, rest, err := parse(flags, args)
	if err != nil {
		return "", err
	}
	if len(files) != 1 || len(rest) > 0 {
		return "", fmt.Errorf("%s takes one file, not %d; %w", flags.Name(), len(files)+len(rest), errUsage)
	}
	return files[0], nil
}

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

// Set adds a value.
func (t *texts) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*t = append(*t, value)
	return nil
}
