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

const usage = `kube-derive turns spec structs into Kubernetes kinds.

usage: kube-derive [flags] [packages]

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

flags:
`

// run returns the exit code: 0 when all is well, 1 for mistakes in the sources and stale files, 2 for a wrong call.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("kube-derive", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	out := flags.String("out", "crds", "write CRDs into the `directory`")
	verify := flags.Bool("verify", false, "write nothing; exit with 1 and name the files that are out of date")
	printUsage := func(w io.Writer) {
		fmt.Fprint(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		printUsage(stdout)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "kube-derive: %v\n\n", err)
		printUsage(stderr)
		return 2
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	files, err := generate.Run(ctx, patterns, &generate.Options{Out: *out})
	if err != nil {
		fmt.Fprintln(stderr, err)
		if e, ok := errors.AsType[*generate.SourceError](err); ok {
			fmt.Fprintf(stderr, "kube-derive: %s; nothing was written\n", plural(len(e.Problems), "mistake"))
		}
		return 1
	}
	if *verify {
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
	fmt.Fprintf(stderr, "kube-derive: %s out of date; run go generate\n", plural(len(stale), "file"))
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
		fmt.Fprintln(stdout, "kube-derive: no kinds here: nothing is marked //kube:resource")
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
