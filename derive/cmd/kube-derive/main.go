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

	"github.com/kube-go/sdk/derive/generate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `kube-derive turns Go types into Kubernetes kinds.

usage: kube-derive [flags] [packages]
       kube-derive crd [flags] [packages]

A struct like this

	//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
	//kube:subresource status
	//kube:printcolumn name=Title jsonPath=.spec.title
	type DocumentSpec struct {
		// Title shown to readers.
		// +kubebuilder:validation:MaxLength=80
		Title string ` + "`json:\"title\"`" + `
	}

becomes, in zz_generated.kube.go beside it, the type Document with its deep copies, its
descriptor and its CRD as bytes; and docs.example.com_documents.yaml, the CRD as YAML.
Packages default to the one in the current directory, so that this line is enough:

	//go:generate go tool kube-derive

With crd it writes the CRDs and nothing else, of any Go module: also of types that are
written out in full, with the markers of kubebuilder.

flags:
`

// invocation is what the arguments of the command say.
type invocation struct {
	crds     bool // nothing else
	out      string
	verify   bool
	patterns []string
}

// parse reads the arguments. Flags may stand before, between and after the packages.
func parse(args []string, flags *flag.FlagSet) (*invocation, error) {
	c := &invocation{}
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.out, "out", "crds", "write CRDs into the `directory`")
	flags.BoolVar(&c.verify, "verify", false, "write nothing; exit with 1 and name the files that are out of date")
	if len(args) > 0 && args[0] == "crd" {
		c.crds, args = true, args[1:]
	}
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		c.patterns, args = append(c.patterns, args[0]), args[1:]
	}
	if len(c.patterns) == 0 {
		c.patterns = []string{"."}
	}
	return c, nil
}

// run returns the exit code: 0 when all is well, 1 for mistakes in the sources and stale files, 2 for a wrong call.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("kube-derive", flag.ContinueOnError)
	printUsage := func(w io.Writer) {
		fmt.Fprint(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
	c, err := parse(args, flags)
	switch {
	case errors.Is(err, flag.ErrHelp):
		printUsage(stdout)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "kube-derive: %v\n\n", err)
		printUsage(stderr)
		return 2
	}
	generated := generate.Run
	if c.crds {
		generated = generate.CRDs
	}
	files, err := generated(ctx, c.patterns, &generate.Options{Out: c.out})
	if err != nil {
		fmt.Fprintln(stderr, err)
		if e, ok := errors.AsType[*generate.SourceError](err); ok {
			fmt.Fprintf(stderr, "kube-derive: %s; nothing was written\n", plural(len(e.Problems), "mistake"))
		}
		return 1
	}
	for _, w := range files.Warnings {
		fmt.Fprintf(stderr, "%s (ignored: the package is not of this module)\n", w)
	}
	if c.verify {
		return report(files, stdout, stderr)
	}
	return write(files, stdout, stderr)
}

// report names the files that are out of date.
func report(files *generate.Files, stdout, stderr io.Writer) int {
	stale, err := files.Stale()
	if err != nil {
		fmt.Fprintf(stderr, "kube-derive: %v\n", err)
		return 1
	}
	if len(stale) == 0 {
		fmt.Fprintf(stdout, "kube-derive: %s up to date\n", plural(len(files.Files), "file"))
		return 0
	}
	for _, path := range stale {
		fmt.Fprintf(stderr, "%s: out of date\n", path)
	}
	fmt.Fprintf(stderr, "kube-derive: %s out of date; run kube-derive again without --verify\n", plural(len(stale), "file"))
	return 1
}

// write brings the files up to date.
func write(files *generate.Files, stdout, stderr io.Writer) int {
	written, err := files.Write()
	for _, path := range written {
		fmt.Fprintf(stdout, "wrote %s\n", path)
	}
	if err != nil {
		fmt.Fprintf(stderr, "kube-derive: %v\n", err)
		return 1
	}
	switch {
	case len(files.Files) == 0:
		fmt.Fprintln(stdout, "kube-derive: no kinds here: nothing is marked //kube:resource or +kubebuilder:object:root=true")
	default:
		fmt.Fprintf(stdout, "kube-derive: wrote %s, %d already up to date\n", plural(len(written), "file"), len(files.Files)-len(written))
	}
	return 0
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
