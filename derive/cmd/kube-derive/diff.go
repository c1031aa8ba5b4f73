// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kube-go/sdk/derive/evolution"
)

// diffCommand compares the CRDs of two releases.
func diffCommand() *command {
	c := &command{
		name:  "diff",
		args:  "[flags] OLD NEW",
		short: "print the changes between old and new CRDs, and fail if they are incompatible",
		long: `
OLD and NEW are each a file with CRDs, a directory of such files, git:REVISION:PATH for a file
or a directory in a revision of a git repository, or - for stdin:

	kube-derive diff git:main:config/crd config/crd
	kubectl get -f config/crd -o yaml | kube-derive diff - config/crd

CRDs with the same name are compared, and other objects are ignored. Each change is printed in
one line, which begins with its severity:

	breaking    requests that worked now fail, or data is lost
	risky       requests still work, but the result differs, such as by another default
	compatible  all other changes

Then follow a name, such as documents.docs.example.com/v1.spec.title:maxLength, what has changed,
and the clients that are affected. --allow accepts the changes whose names match a pattern, in
which * is any text:

	kube-derive diff --allow '*/v1alpha1*' --allow '*:column' old new

A pattern that matches no change is an error. The exit code is 1 if a breaking or risky change is
not allowed, 2 if OLD and NEW can't be compared, and 0 otherwise.`,
	}
	c.prepare = func(flags *flag.FlagSet) action {
		d := &differ{}
		flags.Func("allow", "allow the changes whose names match this `pattern`; may be repeated", func(s string) error {
			d.allow = append(d.allow, s)
			return nil
		})
		flags.Func("allow-file", "allow the changes that match a pattern in this `file`, one per line; # begins a comment", d.allowFile)
		flags.StringVar(&d.output, "output", "text", "print the changes as text or as json")
		return func(ctx context.Context, args []string, std streams) int {
			if len(args) != 2 {
				return c.misused(std, "specify OLD and NEW, and not "+plural(len(args), "argument"))
			}
			if d.output != "text" && d.output != "json" {
				return c.misused(std, fmt.Sprintf("-output is %q, want text or json", d.output))
			}
			d.std = std
			code, err := d.diff(ctx, &crdSource{stdin: os.Stdin}, args[0], args[1])
			if err != nil {
				fmt.Fprintf(std.err, "%s: %v\n", c.fullName(), err)
				return exitUsage
			}
			return code
		}
	}
	return c
}

// differ is one call of diff.
type differ struct {
	std    streams
	allow  []string
	output string
}

// allowFile adds the patterns of a file.
func (d *differ) allowFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			d.allow = append(d.allow, line)
		}
	}
	return nil
}

// diff returns the exit code; an error means that the two can't be compared.
func (d *differ) diff(ctx context.Context, from *crdSource, before, after string) (int, error) {
	olds, err := from.read(ctx, before)
	if err != nil {
		return 0, err
	}
	news, err := from.read(ctx, after)
	if err != nil {
		return 0, err
	}
	all, err := evolution.CompareAll(olds, news)
	if err != nil {
		return 0, err
	}
	rest, err := evolution.Accept(all, d.allow...)
	if err != nil {
		return 0, err
	}
	if err := d.print(rest); err != nil {
		return 0, err
	}
	var count [evolution.Breaking + 1]int
	for _, c := range rest {
		count[c.Severity]++
	}
	allowed := ""
	if n := len(all) - len(rest); n > 0 {
		allowed = fmt.Sprintf("; %d more allowed", n)
	}
	fmt.Fprintf(d.std.err, "kube-derive diff: %s: %d breaking, %d risky, %d compatible%s\n",
		plural(len(rest), "change"), count[evolution.Breaking], count[evolution.Risky], count[evolution.Compatible], allowed)
	if count[evolution.Breaking]+count[evolution.Risky] > 0 {
		return exitWrong, nil
	}
	return exitOK, nil
}

// print writes the changes, one a line or as a list in JSON.
func (d *differ) print(changes []evolution.Change) error {
	var b bytes.Buffer
	if d.output == "json" {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(append([]evolution.Change{}, changes...)); err != nil {
			return err
		}
	} else {
		for _, c := range changes {
			fmt.Fprintln(&b, c)
		}
	}
	_, err := io.Copy(d.std.out, &b)
	return err
}
