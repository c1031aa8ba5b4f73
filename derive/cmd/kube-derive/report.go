// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/kube-go/sdk/derive/generate"
)

// reporter runs a generator and reports the result.
type reporter struct {
	std    streams
	verify bool
	quiet  bool
	absent string // the message if the sources contain nothing to generate
}

// report returns the exit code: 1 for mistakes in the sources and stale files. generated may call loaded with the
// number of packages that it has loaded.
func (r *reporter) report(ctx context.Context, generated func(ctx context.Context, loaded func(int)) (*generate.Files, error)) int {
	std := r.std
	if r.quiet {
		std.err = io.Discard
	}
	p := newProgress(std, isTerminal(std.err))
	files, err := generated(ctx, p.loaded)
	p.end()
	if err != nil {
		fmt.Fprintln(r.std.err, err)
		if e, ok := errors.AsType[*generate.SourceError](err); ok {
			fmt.Fprintf(r.std.err, "kube-derive: %s; nothing was written (-lenient turns mistakes into warnings and writes the rest)\n",
				plural(len(e.Problems), "mistake"))
		}
		return exitWrong
	}
	for _, w := range files.Warnings {
		w.Message = "warning: " + w.Message
		fmt.Fprintln(r.std.err, w)
	}
	p.summary(files)
	if r.verify {
		return r.verified(files)
	}
	for _, n := range files.Notes {
		fmt.Fprintf(std.err, "%s\n", n)
	}
	return r.written(files)
}

// verified names the files that are out of date.
func (r *reporter) verified(files *generate.Files) int {
	stale, err := files.Stale()
	switch {
	case err != nil:
		fmt.Fprintf(r.std.err, "kube-derive: %v\n", err)
		return exitWrong
	case len(stale) == 0:
		r.say("kube-derive: %s up to date\n", plural(len(files.Files), "file"))
		return exitOK
	}
	for _, path := range stale {
		if leftOver(files, path) {
			fmt.Fprintf(r.std.err, "%s: out of date: its source no longer exists\n", path)
			continue
		}
		fmt.Fprintf(r.std.err, "%s: out of date\n", path)
	}
	fmt.Fprintf(r.std.err, "kube-derive: %s out of date; run kube-derive again without --verify\n", plural(len(stale), "file"))
	return exitWrong
}

// written brings the files up to date.
func (r *reporter) written(files *generate.Files) int {
	written, err := files.Write()
	removed := 0
	for _, path := range written {
		if leftOver(files, path) {
			removed++
			r.say("removed %s, because its source no longer exists\n", path)
			continue
		}
		r.say("wrote %s\n", path)
	}
	switch {
	case err != nil:
		fmt.Fprintf(r.std.err, "kube-derive: %v\n", err)
		return exitWrong
	case len(files.Files) == removed && files.Kinds == 0 && len(files.Warnings) == 0:
		r.say("kube-derive: found %s\n", r.absent)
	default:
		r.say("kube-derive: wrote %s, %d already up to date\n", plural(len(written)-removed, "file"), len(files.Files)-len(written))
	}
	return exitOK
}

// leftOver reports whether there should be no such file. The path is relative to the current directory.
func leftOver(files *generate.Files, path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && slices.ContainsFunc(files.Files, func(f generate.File) bool { return f.Path == abs && f.Content == nil })
}

// say prints a message that -q omits.
func (r *reporter) say(format string, args ...any) {
	if !r.quiet {
		fmt.Fprintf(r.std.out, format, args...)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
